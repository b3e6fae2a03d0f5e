# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""What npu-smi, hccn_tool and the shell print instead of an answer.

The exit status is the low byte of the DCMI code (-8005 gives 187) and says less than the text.
"""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import npu_smi_text as text

_TOOL = r"(?:npu-smi|hccn_tool)"
_SOME = ".{0,200}"  # bounded, so that a hostile line does not take minutes
# The first pattern that a line matches names the kind; a cause stands before its consequences.
_KINDS = [
    ("missing_library", r"error while loading shared libraries:\s*(?P<library>[^\s:]+)"),
    ("device_occupied", rf"dcmi\b{_SOME}\bret is\s*(?P<code>-8020)\b"),
    ("dcmi_init_failed", rf"dcmi\b{_SOME}\bret is\s*(?P<code>-?[0-9]{{1,9}})\b"),
    ("dcmi_init_failed", r"dcmi (?:module|model) initiali[sz]ed? failed"),
    # The shell's words are translated: 未找到命令, 没有那个文件或目录 (bash in Chinese).
    ("command_not_found", rf"{_TOOL}\b{_SOME}(?:not found|\u672a\u627e\u5230\u547d\u4ee4)"),
    ("is_directory", rf"{_TOOL}\b{_SOME}(?:\bis a directory|\u662f\u4e00\u4e2a\u76ee\u5f55)"),
    (
        "command_not_found",
        rf"{_TOOL}\b{_SOME}(?:No such file or directory|\u6ca1\u6709\u90a3\u4e2a\u6587\u4ef6)",
    ),
    ("permission_denied", rf"{_TOOL}\b{_SOME}(?:Permission denied|\u6743\u9650\u4e0d\u591f)"),
    ("invalid_card_id", r"^\s*Invalid card id\b"),
    ("invalid_chip_id", r"^\s*Invalid chip id\b"),
    ("invalid_device_id", r"^\s*Device ID is out of the valid range\b"),
    ("not_supported", r"^\s*This device does not support\b"),
    ("command_failed", r"^\s*Cmd execute failed\b"),
]
_PATTERNS = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS]


def find(output: str) -> dict[str, Any] | None:
    """The error that a text tells of, or None.

    kind: one of the names above; dcmi_code: int, negative, None where none is printed; library
    (only of a missing_library): the file name that the loader did not find.
    """
    all_lines = text.lines(output)
    for kind, pattern in _PATTERNS:
        for line in all_lines:
            match = pattern.search(line)
            if match:
                return _error(kind, match.groupdict())
    return None


def _error(kind: str, found: dict[str, str]) -> dict[str, Any]:
    error: dict[str, Any] = {"kind": kind}
    if "library" in found:
        error["library"] = found["library"]
    error["dcmi_code"] = text.integer(found.get("code") or "")
    return error
