# SPDX-License-Identifier: Apache-2.0
"""A file of the package that is no extension."""
