# SPDX-License-Identifier: Apache-2.0
"""Why a store node has no segment in the pool: the words of mooncake_client (0.3.8 and 0.3.13)."""

from __future__ import annotations

import functools

from ansible_collections.kvcache.ascend.plugins.module_utils import service_journal

# glog's last line; what it follows from stands some lines before it, and both together tell more than it alone.
LAST = r"(?:[IWE][0-9]{4} [^\n]*\n)*(?:F[^\n]*Failed to setup client: \w+)?"

STORE_NODE = service_journal.Subject(
    title="Mooncake store node",
    name="mooncake-store",
    role="store_node",
    file="/etc/kvcache/store.env",
    causes=(
        (
            r"Failed to allocate segment memory[^\n]*\n" + LAST,
            "the host has not the memory for its segment",
            "lower store_node_segment_size (free -b shows what there is)",
        ),
        (
            r"invalid rpc arg[^\n]*\n" + LAST,
            "the master speaks another version of Mooncake",
            "bring both to one with site.yml on all hosts of the pool (release_name)",
        ),
        (
            r"(?:Client not available|Failed to create client on port)[^\n]*\n" + LAST,
            "it does not reach the master",
            "check the master from this host: ansible-playbook verify.yml",
        ),
    ),
    quiet_end=(
        "it ends with status 1 and gives no reason, as it does when it can't listen on its port. "
        "Fix: see who has it (sudo ss -ltnp), or change store_node_port."
    ),
)

explain = functools.partial(service_journal.explain, STORE_NODE)
