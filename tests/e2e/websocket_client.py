"""A client's WebSocket in as much as tests need it, with the standard library only."""

import base64
import json
import os
import socket
import struct
import urllib.parse


class WebSocket:
    """Opens ``path`` of a server; text messages are JSON, bytes are bytes."""

    def __init__(self, url, path, headers, context=None):
        parts = urllib.parse.urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=60)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname=parts.hostname)
        fields = {
            "Host": parts.netloc,
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.socket.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def send(self, message):
        payload = json.dumps(message).encode()
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.socket.sendall(b"\x81\xfe" + struct.pack(">H", len(payload)) + mask + masked)

    def receive(self):
        """The next message; None at the end."""
        payload = b""
        while True:
            head = self.file.read(2)
            if len(head) < 2:
                return None
            size = head[1] & 0x7F
            if size > 125:
                size = int.from_bytes(self.file.read(2 if size == 126 else 8), "big")
            part = self.file.read(size)
            operation = head[0] & 0x0F
            if operation == 8:
                return None
            if operation > 8:
                continue
            payload += part
            if head[0] & 0x80:
                return json.loads(payload) if operation == 1 else payload

    def close(self):
        self.file.close()
        self.socket.close()
