# SPDX-License-Identifier: Apache-2.0
"""Ansible's default output, in which a failure is its message, once."""

from __future__ import annotations

DOCUMENTATION = r"""
name: brief
type: stdout
short_description: The default output, with failures that are told once and briefly
version_added: 0.1.0
description:
  - Prints what P(ansible.builtin.default#callback) prints, except for a task that fails.
  - Of that it prints the message, in lines that a terminal of 100 columns shows, and then what the task returned beside it,
    without nulls and without what only a developer reads.
  - With C(-v) it is the default output.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - default_callback
  - result_format_callback
"""

from typing import Any, Callable

from ansible.plugins.callback.default import CallbackModule as DefaultCallback
from ansible_collections.kvcache.ascend.plugins.module_utils import failure_lines


class CallbackModule(DefaultCallback):
    """Callback for the terminal; ansible-runner and AWX have their own."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "kvcache.ascend.brief"

    # The failure that is being printed: results come without the key that says that they are one.
    _failure: Any = None
    # Why a host was not reached has nothing to do with the task that wanted to.
    _is_unreachable = False

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Print a task that failed."""
        self._print_failure(super().v2_runner_on_failed, result, ignore_errors)

    def v2_runner_item_on_failed(self, result: Any) -> None:
        """Print an item of a loop that failed."""
        self._print_failure(super().v2_runner_item_on_failed, result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Print a host that was not reached."""
        self._is_unreachable = True
        try:
            self._print_failure(super().v2_runner_on_unreachable, result)
        finally:
            self._is_unreachable = False

    def _print_failure(
        self, print_as_default: Callable[..., None], result: Any, *arguments: Any
    ) -> None:
        self._failure = result if self._display.verbosity == 0 else None
        try:
            print_as_default(result, *arguments)
        finally:
            self._failure = None

    def _handle_exception(self, result: Any, use_stderr: bool = False) -> None:
        """Leave out an error that is no more than the message, which is printed below with the result."""
        if self._failure is not None and failure_lines.has_message(result):
            exception = getattr(self._failure, "exception", None)
            if self._is_unreachable or failure_lines.is_told(exception, str(result["msg"])):
                result.pop("exception", None)
                return
        super()._handle_exception(result, use_stderr)

    def _dump_results(self, result: Any, *args: Any, **kwargs: Any) -> str:
        """Return a failed result as text; any other as the default does."""
        if self._failure is None or not failure_lines.has_message(result):
            return super()._dump_results(result, *args, **kwargs)
        rest = failure_lines.rest(result)
        dumped = super()._dump_results(rest, *args, **kwargs) if rest else ""
        return f"\n{failure_lines.message(result)}{dumped}"
