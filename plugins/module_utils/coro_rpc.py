# Copyright The kvcache.ascend authors
# SPDX-License-Identifier: Apache-2.0
"""The small part of the coro_rpc protocol that a liveness probe needs.

Mooncake's services talk coro_rpc, the RPC of the yalantinglibs library. Layouts and constants
are those of yalantinglibs, include/ylt/coro_rpc/impl/protocol/coro_rpc_protocol.hpp (struct
req_header and resp_header) and include/ylt/coro_rpc/impl/errno.h. All integers are little endian.
"""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass

# coro_rpc_protocol.hpp: magic_number = 21, the version and the serializer struct_pack are 0.
MAGIC = 21
VERSION = 0
SERIALIZER_STRUCT_PACK = 0
MESSAGE_TYPE = 0

# req_header: magic, version, serialize_type, msg_type, seq_num, function_id, length,
# attach_length: 20 bytes.
REQUEST_HEADER = struct.Struct("<BBBBIIII")
# resp_header: magic, version, err_code, msg_type, seq_num, length, attach_length: 16 bytes.
RESPONSE_HEADER = struct.Struct("<BBBBIII")

# errno.h: what a server answers.
ERROR_NONE = 0
ERROR_FUNCTION_NOT_REGISTERED = 11

# struct_pack writes a short string as one length byte and its characters. The text is looked for
# at the end of the body, since what stands before it depends on the type of the answer.
LONGEST_SHORT_TEXT = 255
_LAST_TEXT = re.compile(rb"([\x01-\xff])([\x20-\x7e]+)\Z")


@dataclass(frozen=True)
class Response:
    """An answer as far as it could be read; `is_coro_rpc` False says that it was something else."""

    is_coro_rpc: bool
    is_complete: bool = False
    error_code: int | None = None
    sequence: int | None = None
    body: bytes = b""


def function_id(qualified_name: str) -> int:
    """The number under which a server registers a function.

    router.hpp, auto_gen_register_key: the first four bytes of the MD5 of the qualified C++ name,
    read as a big endian number. MD5 is a name's number here and protects nothing.
    """
    return int.from_bytes(_md5(qualified_name.encode("utf-8"))[:4], "big")


def _md5(data: bytes) -> bytes:
    try:
        return hashlib.new("md5", data, usedforsecurity=False).digest()
    except TypeError:  # Python 3.8 does not know the argument.
        return hashlib.new("md5", data).digest()


def encode_request(function: int, sequence: int) -> bytes:
    """The request of a function without arguments: a header and no body."""
    return REQUEST_HEADER.pack(
        MAGIC, VERSION, SERIALIZER_STRUCT_PACK, MESSAGE_TYPE, sequence, function, 0, 0
    )


def decode_response(data: bytes) -> Response:
    """Read the bytes that came back so far. Never raises: garbage is an answer too."""
    if not data or data[0] != MAGIC or (len(data) > 1 and data[1] != VERSION):
        return Response(is_coro_rpc=False)
    if len(data) < RESPONSE_HEADER.size:
        return Response(is_coro_rpc=True)
    _magic, _version, error_code, _type, sequence, length, attachment = RESPONSE_HEADER.unpack_from(
        data
    )
    body_end = RESPONSE_HEADER.size + length
    return Response(
        is_coro_rpc=True,
        is_complete=len(data) >= body_end + attachment,
        error_code=error_code,
        sequence=sequence,
        body=data[RESPONSE_HEADER.size : body_end],
    )


def last_text(body: bytes) -> str | None:
    """The string that ends a body: an error's message, or what the function returned."""
    tail = body[-LONGEST_SHORT_TEXT - 1 :]
    for start in range(len(tail)):
        found = _LAST_TEXT.match(tail, start)
        if found and found.group(1)[0] == len(found.group(2)):
            return found.group(2).decode("ascii")
    return None
