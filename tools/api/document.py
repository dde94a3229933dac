"""Keeps `openapi.json`, the document of the REST API that the master serves, from which clients are generated.

python tools/api/document.py            asks the built program and writes openapi.json
python tools/api/document.py --check    fails if openapi.json differs from what the program serves
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = pathlib.Path(__file__).with_name("openapi.json")


def served(binary: str) -> str:
    """The document of this program, with one member a line."""
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / "master.log"
        with log.open("wb") as output:
            command = [binary, "master", "--dir", directory, "--port", "0"]
            master = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            while not (ready := re.search(r"https?://[\w.-]+:\d+", log.read_text())):
                if master.poll() is not None:
                    raise SystemExit(f"{' '.join(command)} ended with {master.returncode}:\n{log.read_text()}")
            with urllib.request.urlopen(f"{ready[0]}/api/v1/api.swagger.json") as answer:
                document = json.load(answer)
        finally:
            master.send_signal(signal.SIGTERM)
            master.wait()
    document["info"].pop("version", None)
    document["info"] = {**document["info"], "version": "v1"}
    return json.dumps(document, indent=1) + "\n"


def main() -> int:
    text = served(os.environ.get("DET_BINARY", str(ROOT / "build" / "release" / "bin" / "det")))
    if "--check" not in sys.argv[1:]:
        DOCUMENT.write_text(text)
    elif DOCUMENT.read_text() != text:
        print(f"{DOCUMENT.relative_to(ROOT)} is not what the program serves; run tools/api/generate")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
