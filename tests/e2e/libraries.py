"""Examples with libraries from PyPI, in one environment for all, and what a run of one must not depend on."""

import hashlib
import pickle
import re
import shutil
import types

import torch
from cluster import HERE, REPOSITORY, wait_until
from state import _add

EXAMPLES = REPOSITORY / "examples"
SLOW = 600  # the first trial builds the environment
OF_ONE_TRIAL = ("continue_id", "others")  # its id, and callbacks of which a disturbed script has one more
TIMES = re.compile(r"runtime|per_second|time$")


ALONE = "fashion_deepspeed"  # other libraries behave differently where DeepSpeed is installed


def requirements():
    """The packages of all examples but one, each in one version."""
    files = [file for file in EXAMPLES.glob("*/requirements.txt") if file.parent.name != ALONE]
    lines = {line for file in files for line in file.read_text().split("\n") if line}
    names = [re.split(r"[=\[<>]", line)[0] for line in lines]
    assert len(names) == len(set(names)), f"two versions of one package in {sorted(lines)}"
    return "".join(f"{line}\n" for line in sorted(lines))


def definition(directory, example):
    """A copy of an example with the scripts that are disturbed."""
    shutil.copytree(EXAMPLES / example, directory, ignore=shutil.ignore_patterns("__pycache__"))
    (directory / "requirements.txt").write_text(requirements())
    shutil.copy(HERE / "models" / "libraries" / "moments.py", directory)
    scripts = HERE / "models" / "libraries"
    shutil.copy(scripts / f"{example}.py", directory / "disturbed.py")
    if (scripts / f"{example}_adapter.py").exists():
        shutil.copy(scripts / f"{example}_adapter.py", directory / "disturbed_adapter.py")
    return directory


def create(cluster, place, *settings, config="const.yaml"):
    return cluster.create(place, *(word for one in settings for word in ("--config", one)), config=config)


def disturb(cluster, id, run, act):
    """Pauses a run that waits, or takes its agent's slots away."""
    wait_until(lambda: f"run {run} waits" in cluster.log_text(id), f"run {run} of {id}", SLOW)
    if act == "pause":
        cluster.run("experiment", "pause", id)
        cluster.wait_for_state(id, "PAUSED")
        cluster.run("experiment", "activate", id)
    else:
        agent = cluster.get("agents")["agents"][0]["id"]
        cluster.run("-u", "admin", "agent", "disable", agent)
        wait_until(lambda: not cluster.shims(), "no process of the preempted trial")
        cluster.run("-u", "admin", "agent", "enable", agent)


def newest_checkpoint(cluster, trial):
    saved = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
    return max(saved, key=lambda c: c["metadata"]["steps_completed"])


def directory_of(cluster, checkpoint):
    return cluster.directory / "checkpoints" / checkpoint["uuid"]


def reports(cluster, trial):
    """Training and validation metrics without those that measure time."""
    found = {}
    for group, part in (("training", "avg_metrics"), ("validation", "validation_metrics")):
        rows = cluster.metrics(trial, group)
        found[group] = [(at, {k: v for k, v in row[part].items() if not TIMES.search(k)}) for at, row in rows]
    return found


class UnknownKind(type):
    """The members of an enum are their names."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


class Unknown(metaclass=UnknownKind):
    """An object of a library that is not installed here."""

    def __new__(cls, *args, **_):
        made = super().__new__(cls)
        made.arguments = args
        return made

    def __repr__(self):
        return f"{type(self).__name__}{sorted(vars(self).items())}"


class Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        try:
            return super().find_class(module, name)
        except ImportError:
            return UnknownKind(name, (Unknown,), {"__init__": lambda *_: None})


def contents(directory, *patterns):
    """A hash of each of these files: what PyTorch saved by its values, other files by their bytes."""
    reader = types.SimpleNamespace(__name__="reader", Unpickler=Unpickler)
    found = {}
    for file in sorted(path for pattern in patterns for path in directory.rglob(pattern)):
        digest = hashlib.sha256()
        if file.read_bytes()[:2] == b"PK" and file.suffix != ".distcp":  # PyTorch's; that is several in one
            _add(digest, torch.load(file, weights_only=False, pickle_module=reader))
        elif file.name == "determined-training-state.pkl":
            state = pickle.loads(file.read_bytes())
            _add(digest, {name: state[name] for name in state if name not in OF_ONE_TRIAL})
        else:
            digest.update(file.read_bytes())
        found[str(file.relative_to(directory))] = digest.hexdigest()
    assert found, f"none of {patterns} in {sorted(directory.rglob('*'))}"
    return found
