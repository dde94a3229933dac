"""The original's client in a process of its own, and the check of what it does against the rows of a table."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess
import time

from cluster import HERE as E2E
from cluster import PATIENCE, SELDOM

HERE = pathlib.Path(__file__).parent
MODEL = E2E / "models" / "noisy"
VARIABLE = re.compile(r"\{([a-z_]\w*)\}")  # {3} in a regular expression is none


class Client:
    """Runs commands and programs in ``directory``; ``variables`` are what rows found in their output."""

    def __init__(self, programs, url, directory, environment):
        self.directory = directory
        shutil.copytree(MODEL, directory / "model")
        shutil.copytree(HERE / "files", directory / "files")
        own = {"DET_MASTER": url, "HOME": str(directory / "home"), "XDG_CONFIG_HOME": str(directory / "home/config")}
        own |= {"XDG_CACHE_HOME": str(directory / "home/cache"), "XDG_DATA_HOME": str(directory / "home/data")}
        own |= {"COLUMNS": "200", "BROWSER": "echo"}
        self.environment = {k: v for k, v in environment.items() if k != "PYTHONPATH"} | own
        self.environment["PATH"] = f"{programs}:{self.environment['PATH']}"
        self.variables = {"url": url}
        self.process = subprocess.Popen(
            [str(programs / "python"), str(HERE / "driver.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=directory,
            env=self.environment | {"DET_USER": "admin", "DET_PASS": ""},
        )

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)

    def ask(self, do, **request):
        self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def filled(self, text, quote=str):
        """The text with the values of variables in it; one that no row has found stays as it is."""
        return VARIABLE.sub(lambda match: quote(self.variables.get(match[1], match[0])), text)

    def run(self, text, user="admin", seconds=PATIENCE):
        """What the line of a table does: its status and output."""
        name, _, password = user.partition(":")
        environment = self.environment | ({} if name == "-" else {"DET_USER": name, "DET_PASS": password})
        text = self.filled(text)
        if text.startswith("!"):
            done = subprocess.run(
                ["sh", "-c", text[1:]],
                env=environment,
                cwd=self.directory,
                capture_output=True,
                text=True,
                timeout=seconds,
            )
            return {"status": done.returncode, "output": done.stdout + done.stderr}
        words = shlex.split(text)
        given = words.index("<") if "<" in words else len(words)
        stdin = "".join(f"{line}\n" for line in words[given + 1 :])
        directory = str(self.directory)
        return self.ask(
            "command", words=words[:given], environment=environment, directory=directory, stdin=stdin, seconds=seconds
        )

    def complaint_of_command(self, row):
        """What is not as the row says; empty if nothing is."""
        status, _, until = row.exit.partition(" ")
        limit = time.monotonic() + (PATIENCE if until and not row.defect else 0)
        while True:
            done = self.run(row.command, row.user)
            complaint = self.complaint_of_output(row, int(status), done)
            if not complaint or time.monotonic() > limit:
                return complaint
            time.sleep(SELDOM)

    def complaint_of_output(self, row, status, done):
        output = re.sub(r"\x1b\[[0-9;]*m", "", done["output"])
        complaints = [] if done["status"] == status else [f"ended with {done['status']}, not {status}"]
        found = {}
        for pattern in filter(None, row.output.split(" && ")):
            wanted = re.compile(self.filled(pattern.removeprefix("!"), re.escape), re.MULTILINE)
            match = wanted.search(output)
            if pattern.startswith("!"):
                complaints += [f"output has {wanted.pattern}"] if match else []
            elif match is None:
                complaints.append(f"output lacks {wanted.pattern}")
            else:
                found |= match.groupdict()
        if "Traceback (most recent call last)" in output and status == 0:
            complaints.append("a traceback")
        if complaints:
            return f"{row}\n    {'; '.join(complaints)}:\n" + "".join(
                f"      {line}\n" for line in output.strip().split("\n")[-12:]
            )
        self.variables |= found
        return ""

    def complaint_of_method(self, row):
        raises = re.match(r"raises (\w+)(?:: (.*))?$", row.holds)
        done = self.ask("sdk", text=self.filled(row.program), holds="" if raises else self.filled(row.holds))
        if raises:
            fine = done["raised"] == raises[1] and re.search(raises[2] or "", done["output"])
            what = f"raised {done['raised']}"
        else:
            fine = done["raised"] is None and done["holds"]
            what = f"raised {done['raised']}" if done["raised"] else f"not so: {row.holds}"
        return "" if fine else f"{row}\n    {what}:\n      {done['output'].strip()[-1500:]}\n"

    def complaints(self, rows):
        """All that is not as the rows say, in their order; a defect that is none any more is a complaint, too."""
        found = []
        for row in rows:
            if not row.is_run:
                continue
            asks = self.complaint_of_command if "command" in row.cells else self.complaint_of_method
            complaint = asks(row)
            if row.defect and not complaint:
                found.append(f"{row}\n    works now: remove the defect `{row.defect}` from the row\n")
            elif complaint and not row.defect:
                found.append(complaint)
        return found
