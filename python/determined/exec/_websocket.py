"""The server side of WebSockets, as RFC 6455 requires it without extensions."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import struct
from collections.abc import Callable, Mapping

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_HEAD_BYTES_MAX = 16 * 1024
_HEAD_SECONDS = 10.0
_PARTING_SECONDS = 2.0
_MESSAGE_BYTES_MAX = 1 << 20
_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10

NORMAL, PROTOCOL_ERROR, TOO_BIG = 1000, 1002, 1009


class Closed(Exception):
    """The connection is closed."""


class WebSocket:
    """An open connection. One coroutine may receive while others send."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._sending = asyncio.Lock()
        self._closing = False

    async def receive(self) -> str | bytes:
        """Returns the next message: text or bytes.

        Raises:
            Closed: there are no more messages.
        """
        kind, parts = 0, bytearray()
        while True:
            final, operation, payload = await self._frame()
            if operation == _PING:
                await self._send(_PONG, payload)
            elif operation == _CLOSE:
                await self.close(NORMAL)
                raise Closed
            elif (operation in (_TEXT, _BINARY) and not kind) or (operation == _CONTINUED and kind):
                kind = kind or operation
                parts += payload
                if len(parts) > _MESSAGE_BYTES_MAX:
                    await self._fail(TOO_BIG)
                if final and kind == _TEXT:
                    return await self._text(bytes(parts))
                if final:
                    return bytes(parts)
            elif operation != _PONG:
                await self._fail(PROTOCOL_ERROR)

    async def send(self, message: str | bytes) -> None:
        """Sends a message; returns when there is room for more.

        Raises:
            Closed: the connection is closed.
        """
        if isinstance(message, str):
            await self._send(_TEXT, message.encode())
        else:
            await self._send(_BINARY, message)

    async def close(self, code: int) -> None:
        """Closes the connection; no other coroutine may receive any more."""
        if not self._closing:
            self._closing = True
            with contextlib.suppress(Closed, OSError):
                await self._send(_CLOSE, struct.pack(">H", code))
                self._writer.write_eof()
                # Closing a socket while data arrives resets it, and the proxy would drop the last messages.
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._drain(), _PARTING_SECONDS)
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _drain(self) -> None:
        while await self._reader.read(_HEAD_BYTES_MAX):
            pass

    async def _text(self, payload: bytes) -> str:
        try:
            return payload.decode()
        except UnicodeDecodeError:
            await self._fail(PROTOCOL_ERROR)
            raise

    async def _fail(self, code: int) -> None:
        await self.close(code)
        raise Closed

    async def _frame(self) -> tuple[bool, int, bytes]:
        try:
            first, second = await self._reader.readexactly(2)
            size = second & 0x7F
            if first & 0x70 or not second & 0x80 or (first & 8 and (size > 125 or not first & 0x80)):
                await self._fail(PROTOCOL_ERROR)
            if size == 126:
                (size,) = struct.unpack(">H", await self._reader.readexactly(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", await self._reader.readexactly(8))
            if size > _MESSAGE_BYTES_MAX:
                await self._fail(TOO_BIG)
            mask = await self._reader.readexactly(4)
            payload = await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, OSError):
            self._writer.close()
            raise Closed from None
        return bool(first & 0x80), first & 0x0F, _masked(payload, mask)

    async def _send(self, operation: int, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            head = struct.pack(">BB", 0x80 | operation, size)
        elif size < 1 << 16:
            head = struct.pack(">BBH", 0x80 | operation, 126, size)
        else:
            head = struct.pack(">BBQ", 0x80 | operation, 127, size)
        async with self._sending:
            if self._writer.is_closing():
                raise Closed
            self._writer.write(head + payload)
            try:
                await self._writer.drain()
            except OSError:
                raise Closed from None


async def accept(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, allows: Callable[[str | None], bool]
) -> WebSocket | None:
    """Answers the request of a new connection; returns None if it is not for a WebSocket, or ``allows`` denies it."""
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
    except (asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
        writer.close()
        return None
    request, headers = _parse(head)
    if len(head) > _HEAD_BYTES_MAX or not request.startswith("GET "):
        await _refuse(writer, "400 Bad Request", "this is not a WebSocket request")
        return None
    if not allows(headers.get("authorization")):
        await _refuse(writer, "401 Unauthorized", "connect through the master")
        return None
    key = headers.get("sec-websocket-key", "")
    if headers.get("upgrade", "").lower() != "websocket" or not key:
        await _refuse(writer, "426 Upgrade Required", "use 'det shell open'", "Upgrade: websocket\r\n")
        return None
    if headers.get("sec-websocket-version") != "13":
        await _refuse(
            writer, "400 Bad Request", "only WebSocket version 13 is supported", "Sec-WebSocket-Version: 13\r\n"
        )
        return None
    digest = base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()
    writer.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {digest}\r\n\r\n".encode()
    )
    return WebSocket(reader, writer)


def _parse(head: bytes) -> tuple[str, Mapping[str, str]]:
    request, *lines = head.decode("latin-1").split("\r\n")
    fields = (line.partition(":") for line in lines if line)
    return request, {name.strip().lower(): value.strip() for name, _, value in fields}


async def _refuse(writer: asyncio.StreamWriter, status: str, why: str, fields: str = "") -> None:
    text = why + "\n"
    writer.write(
        f"HTTP/1.1 {status}\r\n{fields}Content-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
        f"Connection: close\r\n\r\n{text}".encode()
    )
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def _masked(payload: bytes, mask: bytes) -> bytes:
    if not payload:
        return payload
    repeated = (mask * (len(payload) // 4 + 1))[: len(payload)]
    number = int.from_bytes(payload, "little") ^ int.from_bytes(repeated, "little")
    return number.to_bytes(len(payload), "little")
