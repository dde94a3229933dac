"""Adds to a wheel the licences of what it bundles, and a list (CycloneDX) of the packages that its pages are made of.

    add_notices.py WHEEL WEBUI OUTPUT_DIRECTORY

The libraries are those of auditwheel's own list, in `*.dist-info/sboms`: each is of a Debian package, whose copyright
file lies on this machine.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main(wheel: str, webui: str, output: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "wheel", "unpack", "--dest", scratch, wheel], check=True, stdout=-3)
        (root,) = pathlib.Path(scratch).iterdir()
        (info,) = root.glob("*.dist-info")
        notices = info / "licenses"
        notices.mkdir(exist_ok=True)
        for name in libraries(json.loads((info / "sboms" / "auditwheel.cdx.json").read_text())):
            shutil.copyfile(f"/usr/share/doc/{name}/copyright", notices / f"{name}.txt")
        packages = packages_of_pages(json.loads((pathlib.Path(webui) / "package-lock.json").read_text()))
        (info / "sboms" / "pages.cdx.json").write_text(json.dumps(sbom_of(packages), indent=1))
        for place in packages:
            texts = sorted((pathlib.Path(webui) / place).glob("[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*"))
            if texts:
                name = place.removeprefix("node_modules/").replace("/", "-").lstrip("@")
                shutil.copyfile(texts[0], notices / f"{name}.txt")
        subprocess.run([sys.executable, "-m", "wheel", "pack", "--dest-dir", output, root], check=True, stdout=-3)


def libraries(sbom: dict) -> list[str]:
    """The names of Debian's packages in auditwheel's list."""
    return sorted({one["name"] for one in sbom["components"] if one["purl"].startswith("pkg:deb/")})


def packages_of_pages(lock: dict) -> dict[str, dict]:
    """What of a package-lock.json goes into the pages, by its place: not what only builds and tests them."""
    return {
        place: package
        for place, package in lock["packages"].items()
        if place.startswith("node_modules/") and not package.get("dev") and not package.get("link")
    }


def sbom_of(packages: dict[str, dict]) -> dict:
    components = []
    for place, package in sorted(packages.items()):
        name = place.rpartition("node_modules/")[2]
        component = {
            "type": "library",
            "name": name,
            "version": package["version"],
            "purl": f"pkg:npm/{name.replace('@', '%40')}@{package['version']}",
        }
        if "license" in package:
            component["licenses"] = [{"expression": package["license"]}]
        components.append(component)
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}


if __name__ == "__main__":
    main(*sys.argv[1:])
