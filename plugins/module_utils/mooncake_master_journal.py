# SPDX-License-Identifier: Apache-2.0
"""Why a master does not serve: its own words (0.3.7 to 0.3.13); what any service says is in service_journal.py."""

from __future__ import annotations

import functools

from ansible_collections.kvcache.ascend.plugins.module_utils import service_journal

MASTER = service_journal.Subject(
    title="Mooncake master",
    name="mooncake-master",
    role="mooncake_master",
    file="/etc/kvcache/master.env",
    causes=(
        (
            r"(?P<what>[^\n]*Address already in use[^\n]*)",
            "another process took its port while it started ({what})",
            "see who listens (sudo ss -ltnp), stop it or change mooncake_master_rpc_port or mooncake_master_metrics_port",
        ),
        (
            r"(?P<what>[^\n]*(?:Cannot assign requested address|bad address)[^\n]*)",
            "it can't bind its address ({what})",
            "set mooncake_master_bind_address to an address of this host, or to 0.0.0.0",
        ),
    ),
    quiet_end=(
        "it ends with status 1 and gives no reason, as newer versions do when they can't listen on the RPC port. "
        "Fix: see who has the port (sudo ss -ltnp), and that mooncake_master_bind_address is one of this host's."
    ),
)

explain = functools.partial(service_journal.explain, MASTER)
