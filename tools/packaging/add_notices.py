"""Adds to a wheel the licences of what it bundles, and the list of the pages' packages beside auditwheel's.

    add_notices.py WHEEL PAGES_SBOM NODE_MODULES OUTPUT_DIRECTORY

The libraries are those of auditwheel's list (CycloneDX, in `*.dist-info/sboms`): each is of a Debian package, whose
copyright file lies on this machine.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main(wheel: str, pages_sbom: str, node_modules: str, output: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "wheel", "unpack", "--dest", scratch, wheel], check=True, stdout=-3)
        (root,) = pathlib.Path(scratch).iterdir()
        (info,) = root.glob("*.dist-info")
        notices = info / "licenses"
        notices.mkdir(exist_ok=True)
        for name in libraries(json.loads((info / "sboms" / "auditwheel.cdx.json").read_text())):
            shutil.copyfile(f"/usr/share/doc/{name}/copyright", notices / f"{name}.txt")
        pages = json.loads(pathlib.Path(pages_sbom).read_text())
        pages.pop("serialNumber", None)  # these two differ each time
        pages["metadata"].pop("timestamp", None)
        (info / "sboms" / "pages.cdx.json").write_text(json.dumps(pages, indent=1))
        for component in pages["components"]:
            name = "/".join(part for part in (component.get("group"), component["name"]) if part)
            for licence in sorted((pathlib.Path(node_modules) / name).glob("[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*")):
                shutil.copyfile(licence, notices / f"{name.replace('/', '-').lstrip('@')}.txt")
                break
        subprocess.run([sys.executable, "-m", "wheel", "pack", "--dest-dir", output, root], check=True, stdout=-3)


def libraries(sbom: dict) -> list[str]:
    """The names of Debian's packages in auditwheel's list."""
    return sorted({one["name"] for one in sbom["components"] if one["purl"].startswith("pkg:deb/")})


if __name__ == "__main__":
    main(*sys.argv[1:])
