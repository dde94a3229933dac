"""Connections to the master, with TLS for https addresses."""

from __future__ import annotations

import http.client
import os
import urllib.parse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl


class Trust:
    """How to verify the master's certificate.

    The arguments default to ``DET_MASTER_CERT_FILE`` (a file with the certificates to trust, or ``noverify``) and
    ``DET_MASTER_CERT_NAME`` (the name in the certificate, if it is not the host of the address). Without a file, the
    system's certificate authorities are trusted.

    Raises:
        ValueError: the file cannot be read, or contains no certificate.
    """

    def __init__(self, cert_path: str | None = None, cert_name: str | None = None, noverify: bool = False) -> None:
        import ssl  # imported only if needed, because it slows down the start of trials

        path = cert_path or os.environ.get("DET_MASTER_CERT_FILE") or None
        if path == "noverify":
            path, noverify = None, True
        try:
            self.context: ssl.SSLContext = ssl.create_default_context(cafile=None if noverify else path)
        except (OSError, ssl.SSLError) as error:
            raise ValueError(
                f"the certificate file {path} cannot be used ({error}); correct cert_path or DET_MASTER_CERT_FILE"
            ) from None
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        # The master's own certificate can be trusted directly, without its authority.
        self.context.verify_flags |= getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0x80000)
        if noverify:
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE
        self.name = cert_name or os.environ.get("DET_MASTER_CERT_NAME") or None


def trust_of(
    url: str, cert_path: str | None = None, cert_name: str | None = None, noverify: bool = False
) -> Trust | None:
    """How to verify the master at this address; None for an http address."""
    return Trust(cert_path, cert_name, noverify) if urllib.parse.urlsplit(url).scheme == "https" else None


def connection(url: str, timeout: float, trust: Trust | None) -> http.client.HTTPConnection:
    """Returns an unopened connection. It does not use a proxy."""
    parts = urllib.parse.urlsplit(url)
    host = str(parts.hostname)
    if trust is None:
        return _Connection(host, parts.port, timeout=timeout)
    return _SecureConnection(host, parts.port, timeout, trust)


def advice(error: BaseException) -> str:
    """A hint for an error message if the TLS connection failed; empty for any other error."""
    kind = type(error).__name__
    if kind == "SSLCertVerificationError":
        if "match" in str(error):
            return "; if this is the right master, set DET_MASTER_CERT_NAME to a name in its certificate"
        if "expired" in str(error):
            return "; renew the master's certificate"
        return "; set DET_MASTER_CERT_FILE to a file with the master's certificate, or that of its authority"
    if kind == "SSLError" and "WRONG_VERSION_NUMBER" in str(error):
        return "; the server does not use TLS: use http:// instead of https://"
    return ""


class _Connection(http.client.HTTPConnection):
    """Sends a request as a whole: a server that gets the head first has to look twice."""

    _parts: list[bytes] | None = None

    def request(self, *args: Any, **kwargs: Any) -> None:
        self._parts = []
        try:
            super().request(*args, **kwargs)
            whole = b"".join(self._parts)
        finally:
            self._parts = None
        self.send(whole)

    def send(self, data: Any) -> None:
        if self._parts is None:
            super().send(data)
        else:
            self._parts.append(data)


class _SecureConnection(_Connection, http.client.HTTPSConnection):
    """An HTTPS connection to a host whose certificate may have another name."""

    def __init__(self, host: str, port: int | None, timeout: float, trust: Trust) -> None:
        super().__init__(host, port, timeout=timeout, context=trust.context)
        self._trust = trust

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._trust.context.wrap_socket(self.sock, server_hostname=self._trust.name or self.host)
