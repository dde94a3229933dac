"""A PostgreSQL server of the tests' own, in a private directory."""

import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

from cluster import wait_until
from ports import free_ports


def programs():
    """Where the newest version's programs are."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    assert found, "PostgreSQL is not installed; tools/setup.sh installs it"
    return found[-1].parent


class PostgresServer:
    """On a free port of this machine. As root it runs as another user: PostgreSQL refuses root.

    ``data`` is where its data is instead of its own directory, where the log of transactions stays.
    """

    def __init__(self, *options, data=None):
        self.options = ("listen_addresses=127.0.0.1", "fsync=off", *options)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="det-postgres-"))
        self.user = None
        if os.geteuid() == 0:
            self.user = "postgres" if any(u.pw_name == "postgres" for u in pwd.getpwall()) else "nobody"
            shutil.chown(self.directory, self.user)
        (self.port,) = free_ports(1)
        self.data = data or self.directory / "data"
        apart = ["-X", self.directory / "wal"] if data else []
        if data and self.user:
            shutil.chown(data, self.user)
        made = subprocess.run(
            [programs() / "initdb", "-D", self.data, "-U", "det", "-A", "trust", "-E", "UTF8", "--no-sync", *apart],
            user=self.user,
            cwd="/",
            capture_output=True,
            text=True,
        )
        assert made.returncode == 0, made.stderr
        self.process = None
        self.start()

    def start(self):
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [programs() / "postgres", "-D", self.data, "-k", self.directory, "-p", str(self.port)]
                + [word for option in self.options for word in ("-c", option)],
                user=self.user,
                cwd="/",
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        ready = [programs() / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        wait_until(lambda: subprocess.run(ready).returncode == 0, "an answer of PostgreSQL")

    def url(self, name):
        return f"postgres://det@127.0.0.1:{self.port}/{name}"

    def database(self, name):
        self.run("createdb", name)
        return self.url(name)

    def run(self, program, *arguments):
        words = [programs() / program, "-h", "127.0.0.1", "-p", str(self.port), "-U", "det", *arguments]
        done = subprocess.run(words, capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def ask(self, name, sql):
        return self.run("psql", "-X", "-A", "-t", "-d", name, "-c", sql)

    def crash(self):
        """As when its machine fails: no session ends in order."""
        self.process.send_signal(3)
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.crash()
        shutil.rmtree(self.directory, ignore_errors=True)
