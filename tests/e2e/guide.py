"""The pages of docs/guide as scripts.

A page's ``console`` blocks are its commands (lines that begin with "$ "). A block whose fence
names a file, as in "```yaml const.yaml", is what the reader saves under that name.
"""

import re
import shlex

from images import WHOLE, few_images

ENGINES = ("slurm", "ray", "kubernetes", "ssh-machines")  # tests/e2e/elastic has what these pages need

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script_of(text):
    """The page as a shell script that says each command before it runs it and ends at the first that fails."""
    lines = ["set -e", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"]
    for language, name, body in FENCE.findall(text):
        if name:
            lines += [f"cat > {shlex.quote(name)} <<'END OF THE FILE'", body.rstrip("\n"), "END OF THE FILE"]
        elif language == "console":
            for line in body.splitlines():
                if line.startswith("$ "):
                    command = line[2:]
                    lines += [f"printf '%s\\n' {shlex.quote('$ ' + command)}", command]
    return "\n".join(lines) + "\n"


def read_few_images(examples):
    """The examples learn as well, but sooner."""
    few = few_images()[1].partition("=")[2]
    for config in examples.rglob("*.yaml"):
        config.write_text(config.read_text().replace(str(WHOLE), few))
