"""How many batches per second do trials in C++ and in Python train, and how close is that to a bare C++ loop?

One slot, one thread, processor time. Each rate is the best of all rounds; the ratio to the bare loop is the median.
Build the program first: `ninja -C build/release cxx_trials`.

Usage: OMP_NUM_THREADS=1 python bench/cxx_trials.py [seconds per round] [rounds]
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench" / "models" / "four")]

import torch  # noqa: E402
from models import CASES, trial_class  # noqa: E402

from determined._env import EnvContext  # noqa: E402
from determined._run._launch import build  # noqa: E402

PROGRAM = os.environ.get("DET_CXX_TRIALS", str(ROOT / "build/release/bench/cxx/cxx_trials"))


def python_rate(name: str, optimizer: str, seconds: float, rounds: int) -> float:
    chunk = CASES[name].chunk
    env = EnvContext.for_debugging({"hyperparameters": {"global_batch_size": CASES[name].batch}}, managed=True)
    _, controller = build(trial_class(name, optimizer), env, source=None)
    controller.start(None, None, weights_only=False)
    controller.train(chunk)
    best = 0.0
    for _ in range(rounds):
        began, done, passed = time.process_time(), 0, 0.0
        while passed < seconds:
            controller.train(chunk)
            done += chunk
            passed = time.process_time() - began
        best = max(best, done / passed)
    return best


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    answer = subprocess.run([PROGRAM, str(seconds), str(rounds)], capture_output=True, text=True, check=True).stdout
    print(f"{'model':11} {'C++ trial':>10} {'bare C++':>10} {'ratio':>7} {'Python':>10} {'C++/Python':>11}")
    for line in answer.splitlines():
        name, optimizer, ours, bare, ratio = line.split()
        python = python_rate(name, optimizer, seconds, rounds)
        print(
            f"{name + ', ' + optimizer:11} {ours:>10} {bare:>10} {ratio:>7} {python:10.1f}"
            f" {float(ours) / python:11.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
