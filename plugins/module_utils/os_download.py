# SPDX-License-Identifier: Apache-2.0
"""Downloads OS packages with all that they need, on a host of the system that they are for, without installing anything.

Everything that a host of this system may lack is resolved, not what this host lacks: apt is shown a system without any
package, dnf is told so. All that both write is in a folder of their own.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from ansible_collections.kvcache.ascend.plugins.module_utils import host_files, package_errors
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import Runner

SIMULATED = re.compile(r"^Inst (\S+) (?:\[[^\]]*\] )?\((\S+) ", re.MULTILINE)
FIELD = re.compile(r"^(Package|Version|Filename|SHA256|Size): (.+)$", re.MULTILINE)
ENVIRONMENT = {"LC_ALL": "C", "LANGUAGE": "C", "DEBIAN_FRONTEND": "noninteractive"}
RPM_TOOLS = {"createrepo_c": "createrepo_c", "dnf download": "dnf-plugins-core"}


class DownloadError(Exception):
    """Packages could not be downloaded; the text says why and what to do."""


class Closure(NamedTuple):
    """Packages with all that they need: their files, and for apt the text that describes them."""

    files: list[dict[str, Any]]
    description: str
    fetched: list[str]


def call(run: Runner, command: list[str], what: str) -> str:
    """Run a command that must succeed; return its output."""
    status, output, error = run(command, ENVIRONMENT)
    if status != 0:
        raise DownloadError(f"{what}: {package_errors.explain(f'{error}{output}', 0)}")
    return output


def apt_settings(work: str) -> str:
    """Return apt's settings for a system without any package, whose state lies in `work`; hooks of the host don't run."""
    return f"""\
Dir::State "{work}/state";
Dir::State::status "{work}/status";
Dir::Cache "{work}/cache";
Dir::Log "{work}";
APT::Install-Recommends "false";
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
"""


def prepare_apt(work: str) -> str:
    """Make the folders and the file of apt's settings in `work`; return the file's path."""
    for name in ("state/lists/partial", "cache/archives/partial", "packages"):
        os.makedirs(os.path.join(work, name), exist_ok=True)
    for name, text in {"status": "", "apt.conf": apt_settings(work)}.items():
        with open(os.path.join(work, name), "w", encoding="utf-8") as handle:
            handle.write(text)
    return os.path.join(work, "apt.conf")


def stanza(text: str) -> tuple[dict[str, Any], str]:
    """Return the file that a stanza of ``apt-cache show`` names, and the stanza for a folder in which it lies flat."""
    fields = dict(FIELD.findall(text))
    file = os.path.basename(fields["Filename"])
    item = {"file": file, "size_bytes": int(fields["Size"]), "sha256": fields["SHA256"]}
    return item, re.sub(r"(?m)^Filename: .*$", lambda _match: f"Filename: ./{file}", text.strip())


def described(text: str, chosen: list[tuple[str, str]]) -> list[tuple[dict[str, Any], str]]:
    """Return file and stanza of each chosen package and version, sorted by file; one of two repositories counts once."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for block in re.split(r"\n\s*\n", text.strip()):
        fields = dict(FIELD.findall(block))
        if (fields.get("Package"), fields.get("Version")) in chosen:
            item, flat = stanza(block)
            found.setdefault(item["file"], (item, flat))
    return [found[file] for file in sorted(found)]


def fetch_with_apt(
    options: list[str], lacking: list[dict[str, Any]], wanted: list[str], work: str, run: Runner
) -> None:
    """Download into ``work/packages``; apt names files in a way of its own, so they are known by their checksum."""
    folder = os.path.join(work, "packages")
    names = {item["file"].split("_")[0] for item in lacking}
    chosen = [item for item in wanted if item.split("=")[0] in names]
    command = ["env", f"--chdir={folder}", "apt-get", *options, "--quiet", "download", *chosen]
    call(run, command, "downloading")
    files = {item["sha256"]: item["file"] for item in lacking}
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        file = files.pop(host_files.sha256(path), "")
        if file:
            os.replace(path, os.path.join(folder, file))
        else:
            os.remove(path)
    if files:
        raise DownloadError(
            f"downloading: apt brought no {', '.join(sorted(files.values())[:3])}, or others than its lists name. "
            "Fix: see that the repository is whole, then run again."
        )


def with_apt(
    names: list[str], have: list[dict[str, Any]], work: str, run: Runner, only_look: bool
) -> Closure:
    """Resolve packages, and download into ``work/packages`` what `have` lacks."""
    options = ["-c", prepare_apt(work)]
    call(run, ["apt-get", *options, "--quiet", "--quiet", "update"], "reading the repositories")
    plan = call(run, ["apt-get", *options, "--simulate", "install", *names], "resolving")
    # "name:architecture" where it is not the host's own.
    chosen = [(name.split(":")[0], version) for name, version in SIMULATED.findall(plan)]
    wanted = [f"{name}={version}" for name, version in chosen]
    text = call(run, ["apt-cache", *options, "show", *wanted], "reading the packages")
    entries = described(text, chosen)
    lacking = [item for item, _text in entries if item not in have]
    if lacking and not only_look:
        fetch_with_apt(options, lacking, wanted, work, run)
    index = "".join(f"{flat}\n\n" for _item, flat in entries)
    return Closure([item for item, _text in entries], index, [item["file"] for item in lacking])


def rpm_files(folder: str) -> list[dict[str, Any]]:
    """Return every file of a repository."""
    found = []
    for top, _folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(top, name)
            item = {"file": os.path.relpath(path, folder), "size_bytes": os.path.getsize(path)}
            found.append({**item, "sha256": host_files.sha256(path)})
    return sorted(found, key=lambda item: str(item["file"]))


def with_dnf(
    names: list[str], have: list[dict[str, Any]], work: str, run: Runner, only_look: bool
) -> Closure:
    """Resolve packages, and make a repository of all in ``work/packages`` unless `have` has the same ones."""
    for tool, package in RPM_TOOLS.items():
        if run([*tool.split(), "--help"], ENVIRONMENT)[0] != 0:
            raise DownloadError(
                f"this host has no {tool}, which makes the repository. Fix: install {package} on it, or choose another "
                "host of this system for bundle_hosts."
            )
    folder = os.path.join(work, "packages")
    os.makedirs(folder, exist_ok=True)
    command = [
        *("dnf", "--quiet", f"--setopt=cachedir={work}/cache", f"--setopt=logdir={work}"),
        *("--setopt=install_weak_deps=False", "download", "--resolve", "--alldeps"),
    ]
    told = call(run, [*command, "--url", *names], "resolving")
    wanted = {os.path.basename(line) for line in told.split() if line.endswith(".rpm")}
    if wanted and wanted == {item["file"] for item in have if item["file"].endswith(".rpm")}:
        return Closure(have, "", [])
    if only_look:
        return Closure([{"file": file} for file in wanted], "", sorted(wanted))
    call(run, [*command, "--destdir", folder, *names], "downloading")
    call(run, ["createrepo_c", "--quiet", folder], "describing the packages")
    files = rpm_files(folder)
    return Closure(files, "", [item["file"] for item in files])
