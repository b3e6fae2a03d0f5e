# SPDX-License-Identifier: Apache-2.0
"""Whether files on the control node are what a role takes them for, asked before a host is contacted."""

from __future__ import annotations

import os
import re
import shutil
import ssl

CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
PUBLIC_KEY = re.compile(r"^(ssh-|ecdsa-sha2-|sk-ssh-|sk-ecdsa-)\S+ +[A-Za-z0-9+/]{20,}={0,3}( |$)")


def unreadable(path: str) -> str:
    """Return why `path` can't be read as a file; empty when it can."""
    if not os.path.lexists(path):
        return "is not there"
    if not os.path.exists(path):
        return f"is a link to {os.readlink(path)}, which is not there"
    if os.path.isdir(path):
        return "is a directory"
    try:
        with open(path, "rb") as handle:
            return "" if handle.read(1) else "is empty"
    except OSError as error:
        return f"can't be read ({error.strerror})"


def text_of(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as handle:
        return handle.read()


def ca_problem(path: str) -> str:
    """Return why `path` is not a PEM file of certificates, with the fix; empty when it is one."""
    reason = unreadable(path)
    if reason:
        return (
            f"{path} on the control node {reason}. Fix: correct the path, or bring the file there."
        )
    text = text_of(path)
    if "PRIVATE KEY" in text or "-----BEGIN CERTIFICATE-----" not in text:
        return (
            f"{path} on the control node is not a PEM file of certificates only. "
            'Fix: name a file that holds "-----BEGIN CERTIFICATE-----" and no private key.'
        )
    certificates = CERTIFICATE.findall(text)
    try:
        for certificate in certificates:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=certificate)
    except (ValueError, ssl.SSLError):
        certificates = []
    if not certificates or text.count("-----BEGIN CERTIFICATE-----") != len(certificates):
        return (
            f"{path} on the control node has a damaged certificate. Fix: fetch the file again "
            f"(openssl x509 -noout -subject -in {path} shows whether it is whole)."
        )
    return ""


def public_key_problem(path: str) -> str:
    """Return why `path` is not an SSH public key, with the fix; empty when it is one."""
    reason = unreadable(path)
    if reason:
        private = path[: -len(".pub")] if path.endswith(".pub") else path
        return (
            f"{path} on the control node {reason}. "
            f"Fix: name your public key, or make a pair (ssh-keygen -t ed25519 -f {private})."
        )
    text = text_of(path)
    if "PRIVATE KEY" in text:
        return f"{path} on the control node is a private key. Fix: name the public one, {path}.pub."
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) != 1 or not PUBLIC_KEY.match(lines[0].strip()):
        return (
            f"{path} on the control node is not an SSH public key. "
            "Expected one line that begins with its type, such as ssh-ed25519. Fix: name your id_….pub."
        )
    return ""


def known_hosts_problem(path: str) -> str:
    """Return why host keys can't be looked up and written in `path`, with the fix; empty when they can."""
    absent = [name for name in ("ssh-keygen", "ssh-keyscan") if shutil.which(name) is None]
    if absent:
        return (
            f"the control node has no {' and no '.join(absent)}, which read and fill it. "
            "Fix: install the OpenSSH client (openssh-client or openssh-clients)."
        )
    if os.path.isdir(path):
        return f"{path} on the control node is a directory. Fix: name a file in it."
    if os.path.exists(path):
        if os.access(path, os.R_OK | os.W_OK):
            return ""
        return f"{path} on the control node can't be read and written by you. Fix: correct its owner and mode."
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if os.path.isdir(folder) and os.access(folder, os.W_OK):
        return ""
    return f"{path} can't be made on the control node: {folder} is no folder that you may write to. Fix: name another file."


def unwritable(path: str) -> str:
    """Return why a file could not be written at `path`; empty when it could."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        return "it is a directory"
    if not os.path.isdir(folder):
        return f"there is no folder {folder}"
    target = path if os.path.exists(path) else folder
    return "" if os.access(target, os.W_OK) else f"you may not write to {target}"
