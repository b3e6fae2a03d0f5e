# SPDX-License-Identifier: Apache-2.0
"""What a run must do with the service of an instance, and what keeps it from that."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    finding,
    proc_services,
    vllm_plan,
)

NONE, START, RESTART = "none", "start", "restart"


def action(service: Mapping[str, Any], config: str) -> str:
    """none when it runs with `config`, restart when it runs with something older, start when it does not run.

    One that systemd starts again and again is restarted as well: it may be busy with the old configuration.
    """
    if service["active"] not in ("active", "activating", "reloading"):
        return START
    running = (service["environment"] or {}).get(vllm_plan.CONFIG)
    return NONE if running == config and service["active"] == "active" else RESTART


def state(
    results: Iterable[Mapping[str, Any]], instance: Mapping[str, Any], changed: bool = False
) -> dict[str, Any]:
    """The action for one instance, of the ``results`` of service_state_info in a loop over instances.

    `changed` says that one of its files was not as it should be: the process may have read it so.
    """
    (service,) = [
        result["service_state"] for result in results if result["item"]["name"] == instance["name"]
    ]
    wanted = action(service, instance["config"])
    return {
        "action": RESTART if changed and wanted == NONE else wanted,
        "exists": service["exists"],
        "failed": service["active"] == "failed",
    }


def pending(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """The instances that a run would start or restart."""
    return [
        result["item"]["name"]
        for result in results
        if action(result["service_state"], result["item"]["config"]) != NONE
    ]


def obstacles(results: Iterable[Mapping[str, Any]], leaving: Iterable[str], host: str) -> list[str]:
    """What keeps instances from their ports or from being started; `leaving` are stopped before and hold none."""
    gone = [f"vllm@{name}.service" for name in leaving]
    found = []
    for result in results:
        instance, service = result["item"], dict(result["service_state"])
        service["listeners"] = [each for each in service["listeners"] if each["unit"] not in gone]
        found += proc_services.port_problems(
            service, instance["unit"], {f"instance {instance['name']}": instance["port"]}, host
        )
        if service["masked"]:
            found.append(
                f"{host}: {instance['unit']} is masked, so nobody can start it. "
                f"Fix: sudo systemctl unmask {instance['unit']}"
            )
    return found


def report(
    host: str,
    first: Iterable[Mapping[str, Any]],
    second: Iterable[Mapping[str, Any]],
    peers: Mapping[str, str],
) -> dict[str, Any]:
    """One line for each instance, ok or what is wrong with it; the names of those that failed; and the same as data.

    `first` and `second` are the results of vllm_check: for the instance's own prompt, and for that of its peer.
    """
    later = {each["item"]["name"]: each for each in second if "findings" in each}
    lines, failed, instances = [], [], {}
    for result in first:
        name = result["item"]["name"]
        identity = f"{host}/{name}"
        last = later.get(name, result)
        if "findings" not in last:
            # The module itself broke, or was skipped.
            words = str(last.get("msg") or "not checked")
        elif last["findings"]:
            words = finding.render(last["findings"])
        elif name in later:
            words = f"ok: {last['msg']}; the prompt had been sent to {peers[identity]} alone"
        else:
            words = f"ok: {last['msg']}; no other instance shares its model"
        if not words.startswith("ok"):
            failed.append(name)
        lines.append(f"{identity}: {words}")
        instances[name] = {
            "verdict": "failed" if name in failed else "ok",
            "message": words,
            "findings": last.get("findings", []),
        }
    return {"lines": lines, "failed": failed, "instances": instances}
