"""The SSH server of a shell: OpenSSH's ``sshd`` as the task's own user, with keys and a configuration of its own."""

from __future__ import annotations

import atexit
import contextlib
import grp
import os
import pathlib
import pwd
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping

_START_SECONDS = 30.0
_ATTEMPTS = 5
_PLACES = "/usr/sbin:/usr/local/sbin:/sbin"
_SFTP_SERVERS = (
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/libexec/sftp-server",
    "/usr/lib/ssh/sftp-server",
)
_PRIVILEGE_SEPARATION = pathlib.Path("/run/sshd")  # required by Debian's sshd if root starts it
_LISTENING = "Server listening on"
# Variables that each session sets itself.
_OF_A_SESSION = frozenset({"_", "COLUMNS", "LINES", "OLDPWD", "PWD", "SHLVL", "TERM", "DET_SSH_PUBLIC_KEY"})


_NO_TERMINALS = (
    "SSH sessions have no terminals, only commands, file transfer and port forwarding: sshd provides terminals to "
    "users other than root only if /dev/pts is mounted with gid=5, as on Debian. Terminals in the browser work"
)


class Missing(Exception):
    """This machine lacks something that the SSH server needs. The message says what to do."""


class Server:
    """A running ``sshd``. It accepts the private key of ``public_key``, for this process's user only."""

    def __init__(self, host: str, public_key: str, shell: str, environment: Mapping[str, str]) -> None:
        """
        Raises:
            Missing: the machine has no OpenSSH, or this process's user has no account.
            RuntimeError: ``sshd`` did not start; its output is in the task's log.
        """
        self.user = _user()
        self._sshd = _program("sshd", "openssh-server")
        self._home = tempfile.TemporaryDirectory(prefix="det-ssh-")
        home = pathlib.Path(self._home.name)
        keygen = _program("ssh-keygen", "openssh-client")
        host_key = home / "host_key"
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", host_key], check=True)
        (home / "authorized_keys").write_text(public_key + "\n")
        (home / "session").write_text(session_script(shell, os.getcwd(), environment))
        if os.getuid() == 0:
            _PRIVILEGE_SEPARATION.mkdir(mode=0o755, parents=True, exist_ok=True)
        for _ in range(_ATTEMPTS):  # another process may take the port first
            self.port = _free_port(host)
            (home / "sshd_config").write_text(configuration(home, host, self.port, self.user))
            if self._starts(home):
                atexit.register(self._process.kill)
                if os.getuid() != 0 and not _gives_terminals():
                    print(_NO_TERMINALS, file=sys.stderr, flush=True)
                return
        raise RuntimeError("the SSH server did not start; see the lines of sshd above")

    def sessions(self) -> int:
        """The number of open connections."""
        return sum(_parent(entry) == self._process.pid for entry in pathlib.Path("/proc").iterdir())

    def _starts(self, home: pathlib.Path) -> bool:
        self._process = subprocess.Popen(
            [self._sshd, "-D", "-e", "-f", str(home / "sshd_config")],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        listening = threading.Event()
        threading.Thread(target=self._hand_on, args=(self._process, listening), name="sshd", daemon=True).start()
        limit = time.monotonic() + _START_SECONDS
        while time.monotonic() < limit and self._process.poll() is None:
            if listening.wait(0.05):
                return True
        self._process.kill()
        self._process.wait()
        return False

    @staticmethod
    def _hand_on(process: subprocess.Popen[str], listening: threading.Event) -> None:
        """Copies the output of ``sshd`` to the task's log."""
        assert process.stderr is not None
        for line in process.stderr:
            print(line.rstrip(), file=sys.stderr, flush=True)
            if line.startswith(_LISTENING):
                listening.set()


def configuration(home: pathlib.Path, host: str, port: int, user: str) -> str:
    """The configuration of an ``sshd`` that is independent of the machine's own."""
    settings = {
        "Port": port,
        "ListenAddress": host,
        "HostKey": _path(home / "host_key"),
        "PidFile": "none",
        "AuthorizedKeysFile": _path(home / "authorized_keys"),
        "AuthenticationMethods": "publickey",
        "PubkeyAuthentication": "yes",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "PermitRootLogin": "prohibit-password",
        "AllowUsers": user,
        "UsePAM": "no",
        "StrictModes": "no",
        "AllowTcpForwarding": "yes",
        "AllowStreamLocalForwarding": "yes",
        "AllowAgentForwarding": "yes",
        "X11Forwarding": "no",
        "PermitTunnel": "no",
        "PermitUserEnvironment": "no",
        "AcceptEnv": "LANG LC_*",
        "PrintMotd": "no",
        "PrintLastLog": "no",
        "UseDNS": "no",
        "ClientAliveInterval": 60,
        "Subsystem": "sftp internal-sftp",
        "ForceCommand": "/bin/sh " + shlex.quote(str(home / "session")),
        "LogLevel": "INFO",
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def session_script(shell: str, directory: str, environment: Mapping[str, str]) -> str:
    """The script of each session: it runs a command or a shell, in the task's environment and directory."""
    lines = [
        f"export {name}={shlex.quote(value)}"
        for name, value in sorted(environment.items())
        if name.isidentifier() and name not in _OF_A_SESSION and not name.startswith("SSH_")
    ]
    sftp = next((path for path in _SFTP_SERVERS if os.access(path, os.X_OK)), "sftp-server")
    quoted = shlex.quote(shell)
    return "\n".join(
        [
            *lines,
            f"export SHELL={quoted}",
            "export SHLVL=1",  # otherwise, bash reads ~/.bashrc for each command, which may change PATH
            f"cd {shlex.quote(directory)}",
            'case "$SSH_ORIGINAL_COMMAND" in',
            f"'') exec {quoted} ;;",
            f"internal-sftp) exec {sftp} ;;",
            f'*) exec {quoted} -c "$SSH_ORIGINAL_COMMAND" ;;',
            "esac",
            "",
        ]
    )


def _path(path: pathlib.Path) -> str:
    """A path as a quoted word of the configuration, in which "%" begins a token."""
    return '"' + str(path).replace("%", "%%") + '"'


def _user() -> str:
    try:
        account = pwd.getpwuid(os.getuid())
    except KeyError:
        raise Missing(
            f"this machine has no account with the user ID {os.getuid()}, and SSH logs in to accounts only; create "
            "the account on the agent's machine, or link the owner to one that exists with "
            "'det user link-with-agent-user'"
        ) from None
    user = account.pw_name
    if account.pw_shell.endswith(("/nologin", "/false")):
        raise Missing(
            f"the account {user} of this machine has no login shell, which SSH needs; give it one with: "
            f"usermod -s /bin/bash {user}"
        )
    if _is_locked(user):
        raise Missing(
            f"the account {user} of this machine is locked, and SSH does not log in to locked accounts; unlock it, "
            f"still without a password, with: usermod -p '*' {user}"
        )
    return user


def _is_locked(user: str) -> bool:
    """Whether an account is locked. Only root can read this, and only an ``sshd`` of root checks it."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/etc/shadow").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == user:
                return rest.startswith("!")
    return False


def _program(name: str, package: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=_PLACES)
    if found is None:
        raise Missing(
            f"this machine has no {name}, which shells need; install OpenSSH on the agent's machine (Debian and "
            f"Ubuntu: apt-get install {package}), then start the shell again"
        )
    return os.path.abspath(found)


def _gives_terminals() -> bool:
    """Whether ``sshd`` can give terminals to the group ``tty``, as it requires, without being root."""
    with contextlib.suppress(KeyError, OSError):
        group = grp.getgrnam("tty").gr_gid
        ours, theirs = os.openpty()
        try:
            return os.fstat(theirs).st_gid == group or group in os.getgroups()
        finally:
            os.close(ours)
            os.close(theirs)
    return True


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _parent(entry: pathlib.Path) -> int | None:
    if not entry.name.isdigit():
        return None
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return None
