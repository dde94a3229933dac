"""Connections to the master, encrypted where its address says so."""

from __future__ import annotations

import http.client
import os
import urllib.parse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


class Trust:
    """Whom to believe that it is the master.

    The arguments, else ``DET_MASTER_CERT_FILE`` (a file with certificates, or ``noverify``) and
    ``DET_MASTER_CERT_NAME`` (whom the master's certificate is for, where that is not its address); else the system's
    authorities.

    Raises:
        ValueError: the file cannot be read or holds no certificate.
    """

    def __init__(self, cert_path: str | None = None, cert_name: str | None = None, noverify: bool = False) -> None:
        import ssl  # only where it is needed: trials start faster without

        path = cert_path or os.environ.get("DET_MASTER_CERT_FILE") or None
        if path == "noverify":
            path, noverify = None, True
        try:
            self.context: ssl.SSLContext = ssl.create_default_context(cafile=None if noverify else path)
        except (OSError, ssl.SSLError) as error:
            raise ValueError(
                f"the certificate file {path} cannot be used ({error}); cert_path or DET_MASTER_CERT_FILE names it"
            ) from None
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        # A file with the master's own certificate is enough, whoever signed it.
        self.context.verify_flags |= getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0x80000)
        if noverify:
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE
        self.name = cert_name or os.environ.get("DET_MASTER_CERT_NAME") or None


def trust_of(
    url: str, cert_path: str | None = None, cert_name: str | None = None, noverify: bool = False
) -> Trust | None:
    """What connections to this address need; None for a plain one."""
    return Trust(cert_path, cert_name, noverify) if urllib.parse.urlsplit(url).scheme == "https" else None


def connection(url: str, timeout: float, trust: Trust | None) -> http.client.HTTPConnection:
    """A connection that is not open yet; no proxy is used."""
    parts = urllib.parse.urlsplit(url)
    host = str(parts.hostname)
    if trust is None:
        return http.client.HTTPConnection(host, parts.port, timeout=timeout)
    return _Connection(host, parts.port, timeout, trust)


def advice(error: BaseException) -> str:
    """What to do where a certificate was refused; empty for any other error."""
    kind = type(error).__name__
    if kind == "SSLCertVerificationError":
        if "match" in str(error):
            return "; if it is the right one, say whom its certificate is for with DET_MASTER_CERT_NAME"
        if "expired" in str(error):
            return "; its certificate has to be renewed"
        return "; set DET_MASTER_CERT_FILE to a file with the certificate of who signed the master's, or with its own"
    if kind == "SSLError" and "WRONG_VERSION_NUMBER" in str(error):
        return "; it does not speak TLS: use http:// instead of https://"
    return ""


class _Connection(http.client.HTTPSConnection):
    """HTTPS to a host whose certificate may be of another name."""

    def __init__(self, host: str, port: int | None, timeout: float, trust: Trust) -> None:
        super().__init__(host, port, timeout=timeout, context=trust.context)
        self._trust = trust

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._trust.context.wrap_socket(self.sock, server_hostname=self._trust.name or self.host)
