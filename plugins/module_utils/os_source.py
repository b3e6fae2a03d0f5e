# SPDX-License-Identifier: Apache-2.0
"""Settings by which apt or dnf see one folder of packages and nothing else, without a trace in the host's own settings."""

from __future__ import annotations

import os

from ansible_collections.kvcache.ascend.plugins.module_utils import os_download
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import Runner

APT_CONF, DNF_CONF = "apt.conf", "dnf.conf"


def settings(folder: str, manager: str) -> dict[str, str]:
    """Return the files to write, by their names below the folder.

    apt and dnf compare each package with the checksum in the folder's own description; the control node has compared it with
    the bundle's manifest.
    """
    if manager == "dnf":
        return {
            DNF_CONF: f"[main]\nreposdir={folder}/repos.d\ncachedir={folder}/cache\ngpgcheck=0\n"
            f"[kvcache-bundle]\nname=kvcache-bundle\nbaseurl=file://{folder}\nenabled=1\ngpgcheck=0\n"
        }
    return {
        "sources.list": f"deb [trusted=yes] file:{folder} ./\n",
        # An empty folder in place of the host's further sources.
        APT_CONF: f'Dir::Etc::SourceList "{folder}/sources.list";\nDir::Etc::SourceParts "{folder}/sources.list.d";\n'
        f'Dir::State::Lists "{folder}/lists";\nDir::Cache "{folder}/cache";\n',
    }


def write_settings(folder: str, manager: str) -> None:
    """Make the folder readable for apt's own user, whatever root's umask is, and write the settings into it."""
    for name in ("", "lists/partial", "cache/archives/partial", "repos.d", "sources.list.d"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    for top, _folders, names in os.walk(folder):
        os.chmod(top, 0o755)
        for name in names:
            os.chmod(os.path.join(top, name), 0o644)
    for name, text in settings(folder, manager).items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as handle:
            handle.write(text)
        os.chmod(path, 0o644)


def needed_files(
    names: list[str], index: str, environment: dict[str, str], run: Runner
) -> list[str]:
    """Return the files, by the index's names, that apt would need to install packages on this host."""

    def with_settings(command: list[str], more: dict[str, str]) -> tuple[int, str, str]:
        return run(command, {**more, **environment})

    options = ["--quiet", "--no-install-recommends"]
    os_download.call(with_settings, ["apt-get", "--quiet", "--quiet", "update"], "the bundle")
    plan = os_download.call(
        with_settings, ["apt-get", *options, "--simulate", "install", *names], "the bundle"
    )
    chosen = [
        (name.split(":")[0], version) for name, version in os_download.SIMULATED.findall(plan)
    ]
    return [item["file"] for item, _text in os_download.described(index, chosen)]
