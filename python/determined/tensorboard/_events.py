"""Event files of TensorBoard: the format is TFRecord with a protocol buffer in each record."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import pathlib
import socket
import struct
import time
from collections.abc import Mapping

_CASTAGNOLI = 0x82F63B78


def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_CASTAGNOLI if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


class EventFile:
    """An event file; what :meth:`scalars` wrote is in the file on return."""

    def __init__(self, directory: pathlib.Path, suffix: str = "determined") -> None:
        now = time.time()
        name = f"events.out.tfevents.{int(now)}.{socket.gethostname()}.{os.getpid()}.{suffix}"
        self._file = open(directory / name, "ab", buffering=0)  # noqa: SIM115
        self._size = os.fstat(self._file.fileno()).st_size
        self._write(double(1, now) + field(3, b"brain.Event:2"))

    def scalars(self, step: int, values: Mapping[str, float], at: float | None = None) -> None:
        """One point of each curve, of now or of the time ``at``."""
        points = (field(1, field(1, name.encode()) + b"\x15" + _float32(value)) for name, value in values.items())
        self.values(step, b"".join(points), at)

    def values(self, step: int, values: bytes, at: float | None = None) -> None:
        """Adds encoded values of a Summary, such as images."""
        self._write(double(1, time.time() if at is None else at) + b"\x10" + varint(step) + field(5, values))

    def close(self) -> None:
        self._file.close()

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        checks = struct.pack("<I", masked_crc(length)), struct.pack("<I", masked_crc(event))
        record = length + checks[0] + event + checks[1]
        try:
            written = self._file.write(record)
            if written != len(record):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(self._size)  # readers stop at a record that is not complete
            raise
        self._size += len(record)


def _float32(value: float) -> bytes:
    """Encodes four bytes; values that are too large become infinite, as TensorFlow writes them."""
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))


def masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and shifted as in TFRecord."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def double(number: int, value: float) -> bytes:
    return struct.pack("<Bd", number << 3 | 1, value)


def field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2]) + varint(len(value)) + value
