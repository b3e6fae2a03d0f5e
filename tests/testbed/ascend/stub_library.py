# SPDX-License-Identifier: Apache-2.0
"""Writes shared libraries without a compiler, for the linker and for the loader: functions that do nothing and return 0.

stub_library.py FILE SYMBOL…

A test host has no compiler before the role under test brings one, and the machine that runs the tests may be of another
architecture. The file has just what the linker (sections) and the loader (segments) ask for. Layouts and numbers are
those of the System V ABI's object files (ELF), 64 bit, little endian.
"""

from __future__ import annotations

import platform
import struct
import sys
from pathlib import Path

MACHINES = {"x86_64": 62, "aarch64": 183}
RETURN_ZERO = {
    "x86_64": bytes.fromhex("31c0c3"),  # xor eax, eax; ret
    "aarch64": bytes.fromhex("00008052c0035fd6"),  # mov w0, #0; ret
}
PAGE = 0x10000
"""Largest page size of both architectures."""

PT_LOAD, PT_DYNAMIC, PT_GNU_STACK = 1, 2, 0x6474E551
READ, WRITE, EXECUTE = 4, 2, 1
SHT_PROGBITS, SHT_STRTAB, SHT_HASH, SHT_DYNAMIC, SHT_DYNSYM = 1, 3, 5, 6, 11
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
DT_NULL, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_SONAME = 0, 4, 5, 6, 10, 11, 14
GLOBAL_FUNCTION = 0x12

EHDR = struct.Struct("<16sHHIQQQIHHHHHH")
PHDR = struct.Struct("<IIQQQQQQ")
SHDR = struct.Struct("<IIQQQQIIQQ")
SYM = struct.Struct("<IBBHQQ")
DYN = struct.Struct("<qQ")
TEXT_SECTION = 4


def sysv_hash(name: bytes) -> int:
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


def hash_table(names: list[bytes]) -> bytes:
    """One chain per bucket; symbol 0 is the undefined one."""
    buckets, chain = [0] * max(1, len(names)), [0] * (len(names) + 1)
    for index, name in enumerate(names, 1):
        bucket = sysv_hash(name) % len(buckets)
        chain[index], buckets[bucket] = buckets[bucket], index
    words = [len(buckets), len(chain), *buckets, *chain]
    return struct.pack(f"<{len(words)}I", *words)


class Strings:
    """A string table."""

    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, text: bytes) -> int:
        at = len(self.data)
        self.data += text + b"\0"
        return at


def padded(data: bytes, size: int = 16) -> bytes:
    return data + b"\0" * (-len(data) % size)


def library(soname: str, symbols: list[str], machine: str) -> bytes:
    """Return the bytes of the library."""
    names = [symbol.encode() for symbol in symbols]
    strings, code = Strings(), RETURN_ZERO[machine]
    soname_at = strings.add(soname.encode())
    name_at = [strings.add(name) for name in names]
    start = EHDR.size + 4 * PHDR.size
    table = padded(hash_table(names))
    symtab_at = start + len(table)
    symtab_size = SYM.size * (len(names) + 1)
    strings_at = symtab_at + len(padded(b"\0" * symtab_size))
    text_at = strings_at + len(padded(strings.data))
    symtab = SYM.pack(0, 0, 0, 0, 0, 0) + b"".join(
        SYM.pack(at, GLOBAL_FUNCTION, 0, TEXT_SECTION, text_at, len(code)) for at in name_at
    )
    read_only = table + padded(symtab) + padded(strings.data) + padded(code)
    end = start + len(read_only)
    dynamic = b"".join(
        DYN.pack(tag, value)
        for tag, value in (
            (DT_SONAME, soname_at),
            (DT_HASH, start),
            (DT_STRTAB, strings_at),
            (DT_SYMTAB, symtab_at),
            (DT_STRSZ, len(strings.data)),
            (DT_SYMENT, SYM.size),
            (DT_NULL, 0),
        )
    )
    # The loader writes into the dynamic section: a page of its own, at the same offset within it as in the file.
    dynamic_address = PAGE + end
    names_of_sections = Strings()
    sections = [
        (b"", 0, 0, 0, 0, 0, 0, 0, 0),
        (b".hash", SHT_HASH, SHF_ALLOC, start, start, len(hash_table(names)), 2, 0, 4),
        (b".dynsym", SHT_DYNSYM, SHF_ALLOC, symtab_at, symtab_at, symtab_size, 3, 1, SYM.size),
        (b".dynstr", SHT_STRTAB, SHF_ALLOC, strings_at, strings_at, len(strings.data), 0, 0, 0),
        (b".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text_at, text_at, len(code), 0, 0, 0),
        (
            b".dynamic",
            SHT_DYNAMIC,
            SHF_ALLOC | SHF_WRITE,
            dynamic_address,
            end,
            len(dynamic),
            3,
            0,
            DYN.size,
        ),
    ]
    section_names = [names_of_sections.add(name) if name else 0 for name, *_rest in sections]
    own_name = names_of_sections.add(b".shstrtab")
    strings_end = end + len(dynamic)
    headers_at = strings_end + len(padded(names_of_sections.data))
    headers = b"".join(
        SHDR.pack(at, kind, flags, address, offset, size, link, info, 8 if kind else 0, entry)
        for at, (_name, kind, flags, address, offset, size, link, info, entry) in zip(
            section_names, sections
        )
    ) + SHDR.pack(own_name, SHT_STRTAB, 0, 0, strings_end, len(names_of_sections.data), 0, 0, 1, 0)
    programs = b"".join(
        PHDR.pack(*entry)
        for entry in (
            (PT_LOAD, READ | EXECUTE, 0, 0, 0, end, end, PAGE),
            (
                PT_LOAD,
                READ | WRITE,
                end,
                dynamic_address,
                dynamic_address,
                len(dynamic),
                len(dynamic),
                PAGE,
            ),
            (
                PT_DYNAMIC,
                READ | WRITE,
                end,
                dynamic_address,
                dynamic_address,
                len(dynamic),
                len(dynamic),
                8,
            ),
            (PT_GNU_STACK, READ | WRITE, 0, 0, 0, 0, 0, 16),
        )
    )
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = EHDR.pack(
        identity, 3, MACHINES[machine], 1, 0, EHDR.size, headers_at, 0, EHDR.size, PHDR.size, 4, SHDR.size,
        len(sections) + 1, len(sections),
    )  # fmt: skip
    return header + programs + read_only + dynamic + padded(names_of_sections.data) + headers


def main() -> None:
    path = Path(sys.argv[1])
    path.write_bytes(library(path.name, sys.argv[2:], platform.machine()))
    path.chmod(0o755)


if __name__ == "__main__":
    main()
