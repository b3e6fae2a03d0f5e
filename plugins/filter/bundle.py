# SPDX-License-Identifier: Apache-2.0
"""Filters for bundles: thin names for what looks into a bundle's folder on the control node."""

from __future__ import annotations

from ansible_collections.kvcache.ascend.plugins.module_utils import os_bundle


class FilterModule:
    """Filters for the bundle of a release."""

    def filters(self) -> dict:
        return {
            "bundle_archive": os_bundle.archive,
            "bundle_file_problem": os_bundle.file_problem,
            "bundle_files": os_bundle.files_of,
            "bundle_listed": os_bundle.listed,
            "bundle_manifest": os_bundle.manifest,
            "bundle_package_problem": os_bundle.package_problem,
            "bundle_present": os_bundle.present,
            "bundle_problem": os_bundle.problem,
            "bundle_source_sha256": os_bundle.source_sha256,
            "bundle_strangers": os_bundle.strangers,
        }
