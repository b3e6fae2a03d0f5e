# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a stack, as findings: packages and files against the lock, versions against the release, imports."""

from __future__ import annotations

from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import finding, python_lock

SHOWN = 5
"""How many packages a message names; the module's result has them all."""

REBUILD = "run playbooks/python_stack.yml, which makes the environment anew"

PLATFORM_CLASSES = {"npu": "NPUPlatform", "cpu": "CpuPlatform"}
"""Names of vLLM's platform classes: vllm-ascend registers the first, vLLM itself has the second."""

IMPORT_CAUSES = (
    (
        (
            "libhccl",
            "libascendcl",
            "libascend",
            "libatb",
            "libregister",
            "libplatform",
            "libge_",
            "libopapi",
        ),
        "install CANN (nnal for libatb) and the NPU driver, or name their set_env.sh in python_stack_set_env_files",
    ),
    (
        ("undefined symbol",),
        "a library was compiled for another version than the one that is installed: choose a release whose torch, torch_npu "
        "and CANN belong together",
    ),
    (
        ("corrupted size vs. prev_size", "free(): invalid", "malloc"),
        "Mooncake 0.3.7 needs jemalloc: install it and set LD_PRELOAD to libjemalloc.so.2 in python_stack_environment",
    ),
    (
        ("active drivers",),
        "triton and triton-ascend lie in one folder: one of them was installed by hand over the other; "
        + REBUILD,
    ),
    (("all_special_tokens_extended",), "transformers is newer than this vLLM knows; " + REBUILD),
)
"""Words of a failed import, and what to do; the first that fits counts."""


def some(items: list[str]) -> str:
    """Return the first few items, and how many more there are."""
    more = len(items) - SHOWN
    return ", ".join(items[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def package_findings(stack: dict[str, Any], path: str, host: str) -> list[dict[str, str]]:
    """Return what of a stack's packages and files is not as its lock says."""
    if stack["error"]:
        return [
            finding.make(
                "python_stack_python",
                finding.ERROR,
                host,
                observed=f"The environment {path} can't be looked at: {stack['error']}",
                expected="its Python runs",
                fix=REBUILD,
            )
        ]
    different = [
        f"{item['name']} is {item['installed']} (lock: {item['locked']})"
        for item in stack["different"]
    ]
    kinds = (
        (different, "have another version than the lock"),
        (stack["missing"], "are missing"),
        (stack["extra"], "are not in the lock"),
        (stack["twice"], "are installed twice"),
    )
    found = [
        finding.make(
            "python_stack_packages",
            finding.ERROR,
            host,
            observed=f"Packages of {path} {what}: {some(names)}",
            expected="exactly the packages of the lock",
            fix=f"{REBUILD}; never run pip in it",
        )
        for names, what in kinds
        if names
    ]
    if stack["damaged_count"]:
        files = [f"{name} ({why})" for name, why in stack["damaged"]]
        found.append(
            finding.make(
                "python_stack_files",
                finding.ERROR,
                host,
                observed=f"{stack['damaged_count']} files of {path} are not as they were installed: {some(files)}",
                expected="every file as its package brought it",
                fix=REBUILD,
            )
        )
    return found


def version_findings(stack: dict[str, Any], path: str, host: str) -> list[dict[str, str]]:
    """Return where vLLM, vllm-ascend, torch and torch_npu are not the release's, or don't belong together."""
    packages, release = stack["packages"], stack["release"]
    found = []
    for package, wanted in sorted(release["versions"].items()):
        have = packages.get(python_lock.normal_name(package))
        if have != wanted:
            found.append(
                finding.make(
                    "python_stack_versions",
                    finding.ERROR,
                    host,
                    observed=f"{package} in {path} is {have or 'missing'}",
                    expected=f"{wanted}, as release {release['name']} says",
                    fix=REBUILD,
                )
            )
    torch, torch_npu = packages.get("torch"), packages.get("torch-npu")
    if torch and torch_npu and base(torch) != base(torch_npu):
        found.append(
            finding.make(
                "python_stack_torch_pair",
                finding.ERROR,
                host,
                observed=f"torch {torch} and torch_npu {torch_npu} in {path} don't belong together",
                expected="the same number in both, apart from .post and +",
                fix="correct torch and torch_npu in the release's row, and make its lock anew",
            )
        )
    if "triton" in packages and "triton-ascend" in packages:
        found.append(
            finding.make(
                "python_stack_triton",
                finding.ERROR,
                host,
                observed=f"{path} has triton beside triton-ascend, which lie in the same folder",
                expected="triton-ascend alone",
                fix=f"leave triton out of the lock (an override without a specifier), or {REBUILD}",
            )
        )
    return found


def base(version: str) -> str:
    """Return a version without its local part and without .postN: what torch and torch_npu have in common."""
    return version.split("+", maxsplit=1)[0].split(".post", maxsplit=1)[0]


def requirement_findings(stack: dict[str, Any], path: str, host: str) -> list[dict[str, str]]:
    """Return what ``pip check`` would say, without what the release overrides on purpose."""
    if stack["unmet"] is None:
        return []
    on_purpose = set(stack["release"]["overrides"])
    lines = []
    for item in stack["unmet"]:
        if name_of(item["requires"]) in on_purpose:
            continue
        have = f"{item['installed']} is installed" if item["installed"] else "it is not installed"
        lines.append(f"{item['package']} wants {item['requires']}, {have}")
    if not lines:
        return []
    return [
        finding.make(
            "python_stack_requirements",
            finding.ERROR,
            host,
            observed=f"Packages of {path} do not get what they ask for: {some(lines)}",
            expected="every requirement met, but for the release's overrides",
            fix="make the lock anew, or add an override with its reason to the release's row",
        )
    ]


def name_of(requirement: str) -> str:
    """Return the package of ``name>=1,<2``."""
    end = min(
        (requirement.find(sign) for sign in "<>=!~" if sign in requirement),
        default=len(requirement),
    )
    return requirement[:end]


def import_fix(error: str) -> str:
    """Return what to do about a failed import, by the words of its error."""
    for words, fix in IMPORT_CAUSES:
        if any(word in error for word in words):
            return fix
    return "run the import by hand with the environment's Python for the whole story"


def import_findings(
    answers: dict[str, Any], stack: dict[str, Any], path: str, host: str
) -> list[dict[str, str]]:
    """Return which imports failed, the first of a chain alone, and whether vLLM activates the right platform."""
    platform = stack["release"]["platform"]
    for name, answer in answers.items():
        if answer["error"]:
            what = "vLLM's platform" if name == "platform" else name
            # What is imported later fails for the same reason and would only say it in other words.
            return [
                finding.make(
                    "python_stack_imports",
                    finding.ERROR,
                    host,
                    observed=f"{what} can't be loaded from {path}: {answer['error']}",
                    expected=f"it loads on a host of platform {platform}",
                    fix=import_fix(answer["error"]),
                )
            ]
    activated = answers["platform"]["value"]
    if activated == PLATFORM_CLASSES[platform]:
        return []
    return [
        finding.make(
            "python_stack_platform",
            finding.ERROR,
            host,
            observed=f"vLLM in {path} activates {activated}; its platform plugins: "
            f"{', '.join(stack['plugins']['vllm.platform_plugins']) or 'none'}",
            expected=PLATFORM_CLASSES[platform],
            fix="see what vLLM logs at its start; on an NPU host, torch_npu must see a device",
        )
    ]


def stack_findings(stack: dict[str, Any], path: str, host: str) -> list[dict[str, str]]:
    """Return everything that is wrong with a stack, imports aside; the requirements only when the lock is kept."""
    found = package_findings(stack, path, host)
    if stack["error"]:
        return found
    found += version_findings(stack, path, host)
    return found if found else requirement_findings(stack, path, host)
