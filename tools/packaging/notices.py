"""Adds to what users install a list (CycloneDX) of all that others wrote in it, and their licences.

    notices.py wheel WHEEL OUTPUT_DIRECTORY     bundled libraries, compiled headers, and the pages' packages
    notices.py directory DIRECTORY              the same without bundled libraries, as files in a directory

Of the wheel's bundled libraries there is auditwheel's own list, in `*.dist-info/sboms`. Which headers are compiled in,
ninja knows from the compiler. Both are of Debian packages, whose copyright files lie on this machine.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

BUILD = pathlib.Path("build/release")
WEBUI = pathlib.Path("webui")
PART_OF_EVERY_PROGRAM = ("libc6-dev", "linux-libc-dev", "libclang-common", "libgcc-", "libstdc++-")


def main(kind: str, place: str, output: str = "") -> None:
    if kind == "directory":
        add(pathlib.Path(place), pathlib.Path(place) / "licenses")
        return
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "wheel", "unpack", "--dest", scratch, place], check=True, stdout=-3)
        (root,) = pathlib.Path(scratch).iterdir()
        (info,) = root.glob("*.dist-info")
        add(info / "sboms", info / "licenses")
        for name in bundled(json.loads((info / "sboms" / "auditwheel.cdx.json").read_text())):
            copy_licence(name, info / "licenses")
        subprocess.run([sys.executable, "-m", "wheel", "pack", "--dest-dir", output, root], check=True, stdout=-3)


def add(lists: pathlib.Path, licences: pathlib.Path) -> None:
    lists.mkdir(parents=True, exist_ok=True)
    licences.mkdir(parents=True, exist_ok=True)
    compiled = compiled_packages()
    for name in compiled:
        copy_licence(name, licences)
    write(lists / "compiled.cdx.json", [debian_component(name, version) for name, version in compiled.items()])
    pages = packages_of_pages(json.loads((WEBUI / "package-lock.json").read_text()))
    for place in pages:
        texts = sorted((WEBUI / place).glob("[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*"))
        if texts:
            name = place.removeprefix("node_modules/").replace("/", "-").lstrip("@")
            shutil.copyfile(texts[0], licences / f"{name}.txt")
    write(lists / "pages.cdx.json", [npm_component(place, package) for place, package in sorted(pages.items())])


def bundled(sbom: dict) -> list[str]:
    """The names of Debian's packages in auditwheel's list."""
    return sorted({one["name"] for one in sbom["components"] if one["purl"].startswith("pkg:deb/")})


def compiled_packages() -> dict[str, str]:
    """The versions of the Debian packages whose headers were compiled into the program, by their names.

    Templates and inline functions make them a part of it, whether or not there is a library beside them.
    """
    ninja = shutil.which("ninja") or shutil.which("ninja-build") or "ninja"
    listing = subprocess.run([ninja, "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    headers = set()
    for block in listing.split("\n\n"):
        target, _, files = block.partition("\n")
        if "test" not in target.partition(":")[0] and not target.startswith("bench/"):
            headers |= {line.strip() for line in files.splitlines() if line.startswith("    /usr/")}
    owners = subprocess.run(["dpkg", "-S", *sorted(headers)], capture_output=True, text=True, check=False).stdout
    names = {name.strip() for line in owners.splitlines() for name in line.partition(": ")[0].split(",")}
    names = {name.partition(":")[0] for name in names if not name.startswith(PART_OF_EVERY_PROGRAM)}
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${Version}\n", *sorted(names)]
    versions = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    return dict(line.split() for line in versions.splitlines())


def copy_licence(package: str, into: pathlib.Path) -> None:
    shutil.copyfile(f"/usr/share/doc/{package}/copyright", into / f"{package}.txt")


def packages_of_pages(lock: dict) -> dict[str, dict]:
    """What of a package-lock.json goes into the pages, by its place: not what only builds and tests them."""
    return {
        place: package
        for place, package in lock["packages"].items()
        if place.startswith("node_modules/") and not package.get("dev") and not package.get("link")
    }


def debian_component(name: str, version: str) -> dict:
    purl = f"pkg:deb/debian/{name}@{urllib.parse.quote(version)}"
    return {"type": "library", "name": name, "version": version, "purl": purl}


def npm_component(place: str, package: dict) -> dict:
    name = place.rpartition("node_modules/")[2]
    component = {
        "type": "library",
        "name": name,
        "version": package["version"],
        "purl": f"pkg:npm/{name.replace('@', '%40')}@{package['version']}",
    }
    if "license" in package:
        component["licenses"] = [{"expression": package["license"]}]
    return component


def write(path: pathlib.Path, components: list[dict]) -> None:
    sbom = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}
    path.write_text(json.dumps(sbom, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
