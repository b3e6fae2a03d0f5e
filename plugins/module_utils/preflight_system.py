# SPDX-License-Identifier: Apache-2.0
"""Checks of a host's system: what the release needs of it, and whether memory and disk suffice."""

from __future__ import annotations

from typing import Any, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import mooncake_build, release, sizes
from ansible_collections.kvcache.ascend.plugins.module_utils.preflight_model import (
    DoesNotApply,
    Finding,
    Host,
    error,
    seen_of,
    spec_of,
    warning,
)

ARCHITECTURES = ("aarch64", "x86_64")
# Distributions, and words of ID_LIKE, of the two families that the roles know.
NO_ANSWER = ("No start of json char found", "Module result deserialization failed")
FAMILIES = ("debian", "ubuntu", "openeuler", "rhel", "fedora", "centos", "euleros", "rocky")


def in_plain_words(trouble: str) -> str:
    """What Ansible's words about an answer that is none mean; other words stay as they are."""
    if any(words in trouble for words in NO_ANSWER):
        return (
            "sudo, the login shell or Python on it printed something else than the module's answer "
            f"({trouble})"
        )
    return trouble


def check_reachable(host: Host) -> list[Finding]:
    """Ansible gets in, may use sudo, and finds a Python."""
    what = "it" if host.trouble else "its NPUs"
    if not host.trouble and not host.npu_trouble:
        return []
    return [
        error(
            "reachable",
            host.name,
            f"{what} could not be looked at: {in_plain_words(host.trouble or host.npu_trouble)}",
            "SSH with a key, sudo, and Python 3.8 or newer",
            "try ansible -i <inventory> -b -m ping <name>; bootstrap.yml brings a key; or take it out of the inventory",
        )
    ]


def check_operating_system(host: Host) -> list[Finding]:
    system = seen_of(host)["os"]
    words = f"{system['id'] or ''} {system['id_like'] or ''}".lower().split()
    if any(word in FAMILIES for word in words):
        return []
    return [
        error(
            "operating_system",
            host.name,
            f"it runs {system['name'] or 'an unknown system'} {system['version'] or ''}".rstrip(),
            "Debian, Ubuntu, openEuler or another of the RHEL family",
            "take the host out of the inventory",
        )
    ]


def check_architecture(host: Host) -> list[Finding]:
    there = seen_of(host)["architecture"]
    if there in ARCHITECTURES:
        return []
    return [
        error(
            "architecture",
            host.name,
            f"it is {there}",
            " or ".join(ARCHITECTURES),
            "take the host out of the inventory: no package of any release is made for it",
        )
    ]


def check_glibc(host: Host) -> list[Finding]:
    needed, there = spec_of(host)["glibc_min"], seen_of(host)["glibc"]
    if needed is None:
        raise DoesNotApply("its release names no glibc")
    if there and mooncake_build.parse_version(there) >= mooncake_build.parse_version(needed):
        return []
    return [
        error(
            "glibc",
            host.name,
            f"glibc is {there or 'another C library'}",
            f"{needed} or newer, for the wheels of release {spec_of(host)['name']}",
            "upgrade the distribution, or choose an older release_name (docs/releases.md)",
        )
    ]


def check_python(host: Host) -> list[Finding]:
    bounds, python = spec_of(host)["python"], seen_of(host)["python"]
    expected = f"Python {bounds['min']} to {bounds['max']}, for release {spec_of(host)['name']}"
    fix = "set mooncake_python to a Python of that range, or choose another release_name"
    if python["platform"] is None:
        return [error("python", host.name, f"{python['path']}: {python['problem']}", expected, fix)]
    version = python["platform"]["python_version"]
    series = release.version_key(".".join(version.split(".")[:2]))
    if release.version_key(bounds["min"]) <= series <= release.version_key(bounds["max"]):
        return []
    return [error("python", host.name, f"{python['path']} is {version}", expected, fix)]


def check_mooncake_wheel(host: Host) -> list[Finding]:
    """The same rule that the role mooncake holds a wheel to."""
    spec, python = spec_of(host), seen_of(host)["python"]
    by_release = "wheel" if spec["mooncake"]["wheel"] else "source"
    if (host.get("mooncake_install_method") or by_release) != "wheel":
        raise DoesNotApply("mooncake_install_method is not wheel")
    if python["platform"] is None:
        raise DoesNotApply("its Python does not run")
    return [
        error(
            "mooncake_wheel",
            host.name,
            f"Mooncake {spec['mooncake']['version']} can't be installed: {problem}",
            "a wheel that fits the host",
            "set mooncake_install_method to source, choose another release_name, or set mooncake_python to a Python that "
            "the wheel is made for",
        )
        for problem in mooncake_build.wheel_problems(spec["mooncake"]["wheel"], python["platform"])
    ]


def check_memory(host: Host) -> list[Finding]:
    """Segments and buffers of all ranks against the host's memory, less what the rest of it needs."""
    total = seen_of(host)["memory"]["total_bytes"]
    if not host.instances_are_readable():
        raise DoesNotApply("its vllm_instances can't be read")
    instances = [each for each in host.instances() if each.pool]
    if not instances and not host.store_bytes:
        raise DoesNotApply("it lends no memory to the pool")
    if total is None:
        raise DoesNotApply("/proc/meminfo does not tell its memory")
    needed = sum(instance.pool_bytes for instance in instances) + host.store_bytes
    reserve = sizes.to_bytes(host.get("preflight_memory_reserve", "8GiB"))
    if needed + reserve <= total:
        return []
    told = ", ".join(
        f"{each.name} {each.ranks} x ({each.segment_size} + {each.buffer_size})"
        for each in instances
    )
    if host.store_bytes:
        told += f"{', ' * bool(told)}its store node {host.get('store_node_segment_size')}"
    return [
        error(
            "memory",
            host.name,
            f"the pool takes {sizes.to_text(needed)} of {sizes.to_text(total)} ({told})",
            f"at most {sizes.to_text(max(0, total - reserve))}, which leaves "
            f"preflight_memory_reserve ({sizes.to_text(reserve)})",
            "lower segment_size of its instances, which each rank lends, or store_node_segment_size",
        )
    ]


def check_disk(host: Host) -> list[Finding]:
    found = []
    wanted = {each["path"]: each["free"] for each in host.get("preflight_disks", [])}
    for place in seen_of(host)["disks"]:
        free, needed = place["free_bytes"], sizes.to_bytes(wanted.get(place["path"], 0))
        if free is not None and free < needed:
            found.append(
                error(
                    "disk",
                    host.name,
                    f"{place['path']} has {sizes.to_text(free)} free",
                    sizes.to_text(needed),
                    f"free space on its file system (df -h {place['path']}), or correct preflight_disks",
                )
            )
    return found


def check_memlock(host: Host) -> list[Finding]:
    """A segment is registered with the NPU, and its pages are locked for that."""
    limit = seen_of(host)["memlock_limit_bytes"]
    needed = _locked_by_a_rank(host)
    if limit is None or limit >= needed:
        return []
    return [
        error(
            "memlock",
            host.name,
            f"a service may lock {sizes.to_text(limit)} of memory",
            f"{sizes.to_text(needed)} for a rank's segment, better no bound",
            "in a container, start it with --ulimit memlock=-1; else raise DefaultLimitMEMLOCK of systemd",
        )
    ]


def _locked_by_a_rank(host: Host) -> int:
    if host.platform == "cpu":
        raise DoesNotApply("platform is cpu: the pool's memory is not locked")
    spec_of(host)
    needed = [each.segment_bytes + each.buffer_bytes for each in host.instances() if each.pool]
    if not needed:
        raise DoesNotApply("it lends no memory to the pool")
    return max(needed)


def check_hugepages(host: Host) -> list[Finding]:
    """Huge pages are taken from all other memory: what is set aside for them, no one else can use."""
    memory = seen_of(host)["memory"]
    reserved = _reserved_bytes(memory)
    wanted = sum(
        instance.pool_bytes
        for instance in host.instances()
        if instance.pool
        and str(instance.env.get("MC_STORE_USE_HUGEPAGE", "")).lower() in ("1", "true")
    )
    if wanted and reserved < wanted:
        return [
            error(
                "hugepages",
                host.name,
                f"{sizes.to_text(reserved)} are reserved as huge pages",
                f"{sizes.to_text(wanted)}, since instances set MC_STORE_USE_HUGEPAGE",
                f"sysctl -w vm.nr_hugepages={-(-wanted // (memory['hugepage_bytes'] or 1))}, and keep it in "
                "/etc/sysctl.d",
            )
        ]
    total = memory["total_bytes"] or 0
    if total and reserved > total / 2 and not wanted:
        return [
            warning(
                "hugepages",
                host.name,
                f"{sizes.to_text(reserved)} of {sizes.to_text(total)} are reserved as huge pages, "
                "and no instance uses them",
                "memory that the pool can use",
                "lower vm.nr_hugepages: the 200000 of the guides is for hosts with terabytes",
            )
        ]
    return []


def _reserved_bytes(memory: Mapping[str, Any]) -> int:
    return (memory["hugepages_total"] or 0) * (memory["hugepage_bytes"] or 0)
