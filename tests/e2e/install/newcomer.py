"""Somebody with an empty home, and an environment that only the wheel of tools/release is installed in."""

import itertools
import shutil
import subprocess
import time

import pytest
from cluster import PYTHON, REPOSITORY
from guide import script_of
from ports import free_ports

WHEELS = sorted((REPOSITORY / "dist").glob("determined_cpp-*.whl"))
needs_wheel = pytest.mark.skipif(not WHEELS, reason="needs dist/*.whl: tools/release wheel")


class Newcomer:
    """PyTorch is taken from the tests' own environment, as if it had been downloaded already."""

    def __init__(self, home):
        self.home = home
        self.bin = home / "environment" / "bin"
        self.variables = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
        self.commands = []
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}"
        (home / "dist").symlink_to(WHEELS[-1].parent)

    def follow(self, page, until=None, then=""):
        """What the commands of a page of docs/guide print, or those up to a heading, and one more."""
        text = (REPOSITORY / "docs" / "guide" / page).read_text()
        script = script_of(text[: text.index(until)] if until else text)
        for words, in_their_place in {
            "whl torch numpy\n": f"whl --quiet --no-index; {self.take_pytorch()}\n",
            "det doctor\n": f"det doctor --port {self.port}\n",
            "det up >": f"export DET_MASTER={self.url}; det up --port {self.port} >",
        }.items():
            assert words in script
            script = script.replace(words, in_their_place)
        return self.shell(script + then + "\n")

    def shell(self, script, code=0, **variables):
        """What a script prints; it must end with ``code``."""
        shell = subprocess.Popen(
            ["/usr/bin/timeout", "400", "/bin/bash", "-ec", script],
            cwd=self.home,
            env=self.variables | variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        said = ""
        for line in shell.stdout:
            said += line
            if line.startswith("$ "):
                self.commands.append((time.monotonic(), line.strip()))
        assert shell.wait() == code, said
        self.commands.append((time.monotonic(), ""))
        return said

    def seconds(self):
        """How long each command of a page took, and all."""
        rows = [
            f"{after - before:6.1f} s  {command}"
            for (before, command), (after, _) in itertools.pairwise(self.commands)
            if command
        ]
        return "\n".join(
            [*rows, f"{self.commands[-1][0] - self.commands[0][0]:6.1f} s  from nothing to a trained model"]
        )

    def install(self):
        """The environment, without a page's words."""
        self.shell(
            "python3 -m venv environment\n"
            f"environment/bin/pip install --quiet --no-index dist/{WHEELS[-1].name}\n{self.take_pytorch()}\n"
        )
        return self

    def take_pytorch(self):
        """A command for the shell."""
        ours = subprocess.run(
            [PYTHON, "-c", "import torch, pathlib; print(pathlib.Path(torch.__file__).parents[1])"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        return f"echo {ours} > $(echo environment/lib/python3*/site-packages)/pytorch.pth"

    def lose_pytorch(self):
        for path in self.home.glob("environment/lib/python3*/site-packages/pytorch.pth"):
            path.unlink()

    def programs(self, *names):
        """A directory for PATH that has only these of the machine's programs."""
        place = self.home / "-".join(("only", *names))
        place.mkdir(exist_ok=True)
        for name in names:
            found = shutil.which(name)
            if found and not (place / name).exists():
                (place / name).symlink_to(found)
        return f"{self.bin}:{place}"

    def use_ccache(self):
        """What was compiled in an earlier run of the tests is taken from there."""
        if shutil.which("ccache") is None:
            return
        cache = subprocess.run(["ccache", "-k", "cache_dir"], capture_output=True, text=True).stdout.strip()
        settings = self.home / ".config" / "ccache" / "ccache.conf"
        settings.parent.mkdir(parents=True)
        settings.write_text(f"cache_dir = {cache}\nbase_dir = {self.home}\nhash_dir = false\n")
        place = self.home / "compilers"
        place.mkdir()
        for name in ("clang++-19", "clang++", "g++"):
            if shutil.which(name):
                (place / name).symlink_to(shutil.which("ccache"))
        self.variables["PATH"] = f"{place}:{self.variables['PATH']}"
