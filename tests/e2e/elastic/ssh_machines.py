"""Machines that ssh reaches: one sshd each on a port of loopback, with host keys and directories of their own.

with SshMachines(2) as machines:
    subprocess.run(["ssh", *machines.options, "box1", "true"])
"""

import getpass
import os
import pathlib
import shutil
import subprocess
import tempfile

from cluster import wait_until
from ports import free_ports
from reaped import end_reaped, start_reaped


def unavailable():
    """Why there can be no such machines here; empty: there can."""
    if not shutil.which("ssh") or not pathlib.Path("/usr/sbin/sshd").exists():
        return "OpenSSH is not installed (tools/setup.sh installs it)"
    return ""


class SshMachines:
    """They are called box1, box2, …"""

    def __init__(self, count=2):
        self.names = [f"box{number}" for number in range(1, count + 1)]
        self.processes = {}  # by name: reaper.py above sshd

    def __enter__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ssh."))
        self.ports = dict(zip(self.names, free_ports(len(self.names)), strict=True))
        os.makedirs("/run/sshd", exist_ok=True)
        self._key("client")
        shutil.copy(self.root / "client.pub", self.root / "authorized_keys")
        client, known = [], []
        for name, port in self.ports.items():
            self._key(name)
            (self.root / name).mkdir()
            self._configure(name, port)
            known.append(f"[127.0.0.1]:{port} {(self.root / f'{name}.pub').read_text()}")
            client.append(f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n")
        (self.root / "known_hosts").write_text("".join(known))
        common = f"Host *\n  User {getpass.getuser()}\n  IdentityFile {self.root}/client\n  IdentitiesOnly yes\n"
        common += f"  UserKnownHostsFile {self.root}/known_hosts\n  GlobalKnownHostsFile /dev/null\n"
        (self.root / "config").write_text("".join(client) + common)
        try:
            for name in self.names:
                self.start(name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in list(self.processes):
            self.shut_down(name)
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def options(self):
        return ["-F", str(self.root / "config")]

    def run(self, name, command):
        words = ["ssh", *self.options, name, command]
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout

    def directory(self, name):
        """Where it keeps what belongs to its account."""
        return self.root / name

    def start(self, name):
        """The machine is on, and what it has on its disk is there."""
        command = ["/usr/sbin/sshd", "-D", "-e", "-f", self.root / f"{name}.conf"]
        self.processes[name] = start_reaped(command, self.root / f"{name}.log")
        wait_until(lambda: self._answers(name), f"sshd of {name}")

    def shut_down(self, name):
        """The machine is off: its sshd, and all that was started through it."""
        end_reaped(self.processes.pop(name))

    def _answers(self, name):
        assert self.processes[name].poll() is None, self._log(name)
        return subprocess.run(["ssh", *self.options, name, "true"], capture_output=True, timeout=60).returncode == 0

    def _log(self, name):
        return (self.root / f"{name}.log").read_text(errors="replace")

    def _key(self, name):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", self.root / name]
        subprocess.run(words, check=True)
        if name != "client":
            (self.root / name).rename(self.root / f"{name}.key")

    def _configure(self, name, port):
        home = self.root / name
        (self.root / f"{name}.conf").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.root}/{name}.key\nPidFile none\n"
            f"AuthorizedKeysFile {self.root}/authorized_keys\nStrictModes no\nPermitRootLogin yes\n"
            "UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nMaxStartups 100\n"
            f"SetEnv XDG_STATE_HOME={home}/state XDG_CACHE_HOME={home}/cache TMPDIR={home}\n"
        )
