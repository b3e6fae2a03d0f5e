# SPDX-License-Identifier: Apache-2.0
"""Loads the collection's filters once in a run, not once in each task."""

from __future__ import annotations

DOCUMENTATION = r"""
name: preload
type: notification
short_description: Loads the filters of this collection once in a run
version_added: 0.1.0
description:
  - Ansible forks a process for each task on each host. One that is the first to use a filter of a collection compiles
    the source of all of the collection's filters, and forgets it when it ends.
  - This callback loads them into the process that the others are forked from. It prints nothing and changes no result.
requirements:
  - enabled in configuration, with C(callbacks_enabled = kvcache.ascend.preload)
author:
  - The kvcache.ascend authors (@kvcache-ascend)
"""

from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import filter_loader


class CallbackModule(CallbackBase):
    """Callback beside the one that prints."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "kvcache.ascend.preload"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """Look one filter up: to find it, Ansible loads the files of all."""
        filter_loader.get_with_context("kvcache.ascend.finding_text")
