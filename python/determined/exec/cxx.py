"""``det-trial`` in an environment that the wheel is installed in: the program of trials in C++.

The wheel has one half of the C++ runtime compiled, and the half that includes LibTorch as sources, because LibTorch's
binary interface differs between versions. The first trial compiles them against the PyTorch of this environment, and
the user's cache keeps the result. The compiled program then takes the place of this process.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent import futures
from typing import NamedTuple

from determined._version import __version__

TORCH_OLDEST = (2, 11)
CLANG_NEWEST, CLANG_OLDEST = 23, 14
CLANG_OLD_NAMES = 17  # the last that names templates as the g++ does that compiles LibTorch
KEPT = 4  # compiled runtimes; about 10 MB each
ERRORS_SHOWN = 5
LOOK = 0.2  # seconds between two looks of a warm worker

SOURCES = pathlib.Path(__file__).parents[1] / "cxx"
LIBRARIES = SOURCES.parents[1] / "determined_cpp.libs"  # auditwheel's


class CannotCompile(Exception):
    """A sentence for the user."""


class Toolchain(NamedTuple):
    compiler: str
    torch: pathlib.Path
    torch_version: str
    flags: list[str]
    gpu_flags: list[str] | None
    """None: the part for GPUs cannot be compiled or is not needed."""
    link_flags: list[str]


def main() -> None:
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"det-trial {__version__}")
        return
    try:
        program = str(runtime(compile_it=arguments != ["warm"]) / "bin" / "det-trial")
    except (CannotCompile, OSError) as error:
        sys.exit(str(error))
    os.execv(program, [program, *arguments])


def runtime(compile_it: bool) -> pathlib.Path:
    """The directory of the compiled runtime, which is compiled now if it was not yet.

    An agent's warm worker waits instead: the trial that was started with it compiles, and its log shows how.
    """
    if not (SOURCES / "sources.txt").exists():
        raise CannotCompile(
            f"this installation of determined-cpp has no sources of the C++ runtime ({SOURCES}); "
            "install its wheel, or run C++ trials from a source tree"
        )
    toolchain = find_toolchain()
    place = cache_directory() / "runtime"
    place.mkdir(parents=True, exist_ok=True)
    name = key(toolchain)
    made = place / name
    agent = os.getppid()
    while not compile_it and not made.exists():
        time.sleep(LOOK)
        if os.getppid() != agent:
            sys.exit(0)
    if made.exists():
        os.utime(made)
        return made
    with (place / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process that compiles the C++ runtime")
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            build(toolchain, place / f"{name}.partial")
            (place / f"{name}.partial").rename(made)
    keep_newest(place)
    return made


def cache_directory() -> pathlib.Path:
    """The user's own, so that all clusters of a user share it; else the agent's."""
    variables = {"XDG_CACHE_HOME": "determined/cxx", "HOME": ".cache/determined/cxx", "DET_CXX_CACHE": ""}
    for name, below in variables.items():
        if os.environ.get(name):
            place = pathlib.Path(os.environ[name]) / below
            try:
                place.mkdir(parents=True, exist_ok=True)
            except OSError:
                continue
            if os.access(place, os.W_OK):
                return place
    return pathlib.Path(tempfile.gettempdir()) / f"determined-cxx-{os.getuid()}"


# What it is compiled with.


def find_toolchain() -> Toolchain:
    torch, version = find_torch()
    compiler = find_compiler()
    flags = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w"]
    flags += ["-fdiagnostics-color=never", "-DUSE_DISTRIBUTED", "-DUSE_C10D_GLOO", f"-I{SOURCES / 'include'}"]
    includes = [SOURCES / "include/det/pytorch/gloo_names", torch / "include", torch / "include/torch/csrc/api/include"]
    link = []
    if "clang" in os.path.basename(compiler):
        if clang_version(compiler) > CLANG_OLD_NAMES:
            flags.append(f"-fclang-abi-compat={CLANG_OLD_NAMES}")
        if shutil.which("ld.lld", path=f"{os.environ.get('PATH', os.defpath)}:{os.path.dirname(compiler)}"):
            link.append("-fuse-ld=lld")
    flags += [word for include in includes for word in ("-isystem", str(include))]
    return Toolchain(compiler, torch, version, flags, gpu_flags(torch), link)


def find_torch() -> tuple[pathlib.Path, str]:
    """PyTorch's directory and version, without the seconds that importing it takes."""
    found = importlib.util.find_spec("torch")
    install = f"{sys.executable} -m pip install torch"
    if found is None or not found.submodule_search_locations:
        raise CannotCompile(
            f"C++ trials need PyTorch {said(TORCH_OLDEST)} or later, which is not installed in {sys.prefix}; "
            f"install it: {install}"
        )
    place = pathlib.Path(found.submodule_search_locations[0])
    text = (place / "version.py").read_text()
    match = re.search(r"__version__.*?= *['\"]((\d+)\.(\d+)[^'\"]*)", text)
    if match is None or (int(match[2]), int(match[3])) < TORCH_OLDEST:
        raise CannotCompile(
            f"C++ trials need PyTorch {said(TORCH_OLDEST)} or later, but {sys.prefix} has "
            f"{match[1] if match else 'an unknown version'}; upgrade it: {install} --upgrade"
        )
    if not (place / "include/ATen/ATen.h").exists():
        raise CannotCompile(f"{place} has no C++ headers; install PyTorch from its wheel: {install}")
    return place, match[1]


def said(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def find_compiler() -> str:
    """``$DET_CXX``, else the newest clang on the path, else g++: what trials are compiled with, too."""
    chosen = os.environ.get("DET_CXX")
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise CannotCompile(f'DET_CXX is "{chosen}", which does not exist; set it to a C++ compiler')
        return found
    clangs = [f"clang++-{version}" for version in range(CLANG_NEWEST, CLANG_OLDEST - 1, -1)]
    for name in [*clangs, "clang++", "g++", "c++"]:
        found = shutil.which(name)
        if found is not None:
            return found
    raise CannotCompile(
        "no C++ compiler found; C++ trials are compiled on the machine that runs them. "
        "Install clang and lld there (apt-get install clang lld), or g++ (apt-get install g++)"
    )


def clang_version(compiler: str) -> int:
    done = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True)
    match = re.match(r"\d+", done.stdout)
    return int(match[0]) if match else 0


def gpu_flags(torch: pathlib.Path) -> list[str] | None:
    """How to compile the part for GPUs, where there is one and the headers of CUDA and NCCL are there."""
    if not os.path.exists("/dev/nvidiactl") or not (torch / "lib/libtorch_cuda.so").exists():
        return None
    hosts = glob.glob(f"{torch.parent}/nvidia/cu*/include/crt/host_config.h")
    hosts += glob.glob("/usr/local/cuda/include/crt/host_config.h")
    nccl = torch.parent / "nvidia/nccl/include"
    if not hosts or not (nccl / "nccl.h").exists():
        return None
    cuda = str(pathlib.Path(hosts[0]).parents[1])
    return ["-DUSE_C10D_NCCL", *(word for place in (cuda, f"{cuda}/cccl", nccl) for word in ("-isystem", str(place)))]


def key(toolchain: Toolchain) -> str:
    """A name for all that decides what comes out."""
    told = repr((__version__, toolchain._replace(compiler="")))
    digest = hashlib.blake2b(told.encode(), digest_size=16)
    for path in (pathlib.Path(toolchain.compiler), toolchain.torch / "lib/libtorch_cpu.so"):
        path = path.resolve()
        digest.update(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}\n".encode())
    for path in sorted(SOURCES.rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(SOURCES)).encode() + path.read_bytes())
    return digest.hexdigest()


# How it is compiled.


def build(toolchain: Toolchain, into: pathlib.Path) -> None:
    """An installation in ``into``: bin/det-trial, lib/libdet_pytorch.so, include/det and lib/cmake/det."""
    began = time.monotonic()
    name = os.path.basename(toolchain.compiler)
    say(
        f"compiling the C++ runtime for PyTorch {toolchain.torch_version} with {name}. "
        "This takes about a minute, once for this version of PyTorch"
    )
    shutil.rmtree(into, ignore_errors=True)
    for part in ("bin", "lib/cmake/det", "include/det/pytorch", "objects"):
        (into / part).mkdir(parents=True)
    install_headers(toolchain, into)
    cores = len(os.sched_getaffinity(0))
    sources = (SOURCES / "sources.txt").read_text().split()
    # LibTorch's headers are most of the work, so many files are compiled as one; their names do not meet.
    count = min(4, max(2, cores))
    pieces = [sources[number::count] for number in range(count)]
    commands = {}
    for number, piece in enumerate(pieces):
        text = "".join(f'#include "det/pytorch/{source}"\n' for source in piece)
        (into / "objects" / f"part{number}.cpp").write_text(text)
        commands[f"part{number}.cpp"] = ["-c", "-o", f"part{number}.o", f"part{number}.cpp"]
    if toolchain.gpu_flags is not None:
        gpu = [*toolchain.gpu_flags, str(SOURCES / "include/det/pytorch/gpu/gpu.cpp")]
        commands["gpu.cpp"] = [*gpu, "-shared", "-o", "../lib/libdet_pytorch_gpu.so", *torch_libraries(toolchain)]
    done = 0
    with futures.ThreadPoolExecutor(cores) as pool:
        running = {pool.submit(call, toolchain, words, into / "objects"): name for name, words in commands.items()}
        for one in futures.as_completed(running):
            try:
                one.result()
            except CannotCompile as error:
                if running[one] != "gpu.cpp":
                    pool.shutdown(wait=False)
                    raise
                say(f"the part for GPUs is left out, so ranks exchange through main memory: {error}")
            done += 1
            say(f"compiled {done} of {len(running)} parts after {time.monotonic() - began:.0f} s")
    link(toolchain, into, [f"part{number}.o" for number in range(len(pieces))])
    shutil.rmtree(into / "objects")
    say(f"the C++ runtime is compiled ({time.monotonic() - began:.0f} s), in {into.parent}")


def install_headers(toolchain: Toolchain, into: pathlib.Path) -> None:
    shutil.copy(SOURCES / "include/det/pytorch.h", into / "include/det")
    for name in (SOURCES / "headers.txt").read_text().split():
        shutil.copy(SOURCES / "include/det/pytorch" / name, into / "include/det/pytorch")
    for path in (SOURCES / "cmake").iterdir():
        shutil.copy(path, into / "lib/cmake/det")
    (into / "lib/cmake/det/detTorchRoot.cmake").write_text(f'set(det_TORCH_ROOT "{toolchain.torch}")\n')


def link(toolchain: Toolchain, into: pathlib.Path, objects: list[str]) -> None:
    ours = sorted((SOURCES / "lib").glob("*.a"))
    platform = [path for path in ours if path.name == "libdet_pytorch_platform.a"]
    others = [path for path in ours if path not in platform]
    bundled = sorted(LIBRARIES.glob("lib*.so*"))
    if not bundled:  # the package was built on this machine and uses its libraries
        bundled = [pathlib.Path(f"-l{name}") for name in (SOURCES / "libraries.txt").read_text().split()]
    library = ["-shared", "-o", "../lib/libdet_pytorch.so", "-Wl,-soname,libdet_pytorch.so", "-Wl,-z,defs", *objects]
    library += ["-Wl,--whole-archive", *map(str, platform), "-Wl,--no-whole-archive"]
    library += ["-Wl,--start-group", *map(str, others), "-Wl,--end-group"]
    library += ["-Wl,--exclude-libs," + ":".join(path.name for path in others)]  # hidden, as the rest
    library += [f"-Wl,-rpath,$ORIGIN:{toolchain.torch / 'lib'}:{LIBRARIES}", f"-Wl,-rpath-link,{LIBRARIES}"]
    library += ["-Wl,--as-needed", *map(str, bundled), "-Wl,--no-as-needed", *torch_libraries(toolchain)]
    call(toolchain, library, into / "objects")
    program = [str(SOURCES / "include/det/pytorch/program/main.cpp"), "-o", "../bin/det-trial"]
    program += ["-L../lib", "-ldet_pytorch", "-Wl,-rpath,$ORIGIN/../lib", "-Wl,--allow-shlib-undefined"]
    call(toolchain, program, into / "objects")


def torch_libraries(toolchain: Toolchain) -> list[str]:
    return [str(toolchain.torch / "lib" / f"lib{name}.so") for name in ("torch_cpu", "c10")]


def call(toolchain: Toolchain, words: list[str], directory: pathlib.Path) -> None:
    """Runs the compiler in ``directory``."""
    link_flags = [] if "-c" in words else toolchain.link_flags
    command = [toolchain.compiler, *toolchain.flags, *link_flags, *words]
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0:
        return
    errors = [line for line in done.stdout.splitlines() if "error" in line or "undefined" in line]
    told = "\n".join(errors[:ERRORS_SHOWN]) or done.stdout[-1000:].strip()
    raise CannotCompile(
        f"cannot compile the C++ runtime for PyTorch {toolchain.torch_version} with {toolchain.compiler} "
        f"(status {done.returncode}); it needs clang 14 or later, or g++ 11 or later, and 2 GB of memory and 100 MB "
        f"of disk space. The compiler says:\n{told}"
    )


def say(line: str) -> None:
    print(f"INFO: determined: {line}", file=sys.stderr, flush=True)


def keep_newest(place: pathlib.Path) -> None:
    made = sorted((path for path in place.iterdir() if is_runtime(path)), key=lambda path: path.stat().st_mtime)
    for path in made[:-KEPT]:
        shutil.rmtree(path, ignore_errors=True)


def is_runtime(path: pathlib.Path) -> bool:
    return path.is_dir() and not path.suffix


if __name__ == "__main__":
    main()
