# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""What Ansible's argument specification cannot say about the arguments of mooncake_master_*."""

from __future__ import annotations

from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import master_address

DAY_SECONDS = 86400.0


def mistakes(parameters: dict[str, Any]) -> list[str]:
    """Every mistake in the arguments, as a sentence each; empty when there is none."""
    found = []
    if not parameters["address"]:
        found.append("address is empty: give host:port of a Mooncake master")
    for text in parameters["address"]:
        try:
            port = master_address.parse(text).port
        except master_address.AddressError as error:
            found.append(f"address {error}")
            continue
        if port == parameters["metrics_port"]:
            found.append(
                f"metrics_port {port} is the RPC port of {text}: give the master's other port"
            )
    if not 0 <= parameters["metrics_port"] <= 65535:
        found.append(f"metrics_port {parameters['metrics_port']} is no number from 0 to 65535")
    for name in ("step_timeout", "interval"):
        seconds = parameters.get(name, 1.0)
        if not 0 < seconds <= DAY_SECONDS:
            found.append(f"{name} {seconds:g} is no number of seconds above 0, up to a day")
    if not 0 <= parameters["timeout"] <= DAY_SECONDS:
        found.append(f"timeout {parameters['timeout']:g} is no number of seconds from 0 to a day")
    return found + _client_mistakes(parameters) + _segment_mistakes(parameters)


def _client_mistakes(parameters: dict[str, Any]) -> list[str]:
    min_clients = parameters.get("min_clients", 0)
    if min_clients < 0:
        return [f"min_clients {min_clients} is below 0"]
    if min_clients and parameters["metrics_port"] == 0:
        return ["min_clients needs the metrics port: give metrics_port, or leave min_clients out"]
    return []


def _segment_mistakes(parameters: dict[str, Any]) -> list[str]:
    segments = parameters.get("segments") or {}
    found = [
        f"segments: {size!r} of {name} is no number of bytes"
        for name, size in segments.items()
        if not str(size).isdigit()
    ]
    if segments and parameters["metrics_port"] == 0:
        found.append("segments needs the metrics port: give metrics_port, or leave segments out")
    return found


def addresses(parameters: dict[str, Any]) -> list[master_address.MasterAddress]:
    return [master_address.parse(text) for text in parameters["address"]]
