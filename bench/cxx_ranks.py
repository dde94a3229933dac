"""How many batches per second do trials on two slots train, in C++ and in Python?

Four models on a platform of their own, one thread per process, and on each slot the batch size of `cxx_trials.py`. The
two languages take turns. A batch is timed by the wall clock between two batches, so start-up does not count.

Usage: python bench/cxx_ranks.py [rounds, default 3] [slots, default 2]
"""

from __future__ import annotations

import pathlib
import statistics
import sys
import tempfile

from platform_under_test import ROOT, Platform, circumstances, platform

MODELS = {"Tiny": (1, 4000), "Mlp": (64, 1000), "Cnn": (64, 60), "Lstm": (16, 200)}
"""Records per slot and batch, and the number of batches."""
FOUR = ROOT / "bench" / "models" / "four"
DEFINITIONS = {"C++": (FOUR.with_name("four_cxx"), "model_def.cpp"), "Python": (FOUR, "model_def")}


def seconds(server: Platform, place: pathlib.Path, language: str, model: str, slots: int) -> float:
    """Trains the model once; returns the wall time per batch."""
    times = place / "times"
    times.unlink(missing_ok=True)
    folder, module = DEFINITIONS[language]
    batch, batches = MODELS[model]
    experiment = server.submit(
        folder,
        data=f"{{times: {times}, first: {batches // 4}, last: {batches - 1}}}",
        hyperparameters=f"{{global_batch_size: {batch * slots}}}",
        scheduling_unit=str(batches),
        searcher=f"{{name: single, metric: nothing, max_length: {{batches: {batches}}}}}",
        entrypoint=f"{module}:{model}Trial",
        resources=f"{{slots_per_trial: {slots}}}",
    )
    if (state := server.wait_until_over(experiment, 300)) != "COMPLETED":
        raise RuntimeError(f"experiment {experiment} is {state}")
    return float(times.read_text())


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    slots = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    print(f"{'model':6} {'C++':>10} {'Python':>10} {'C++/Python':>11}   batches per second")
    with tempfile.TemporaryDirectory() as directory, platform("--slots", str(slots)) as server:
        place = pathlib.Path(directory)
        for language in DEFINITIONS:
            seconds(server, place, language, "Tiny", slots)  # compiles the model and waits for a warm worker
        for model in MODELS:
            pairs = [
                [seconds(server, place, language, model, slots) for language in DEFINITIONS] for _ in range(rounds)
            ]
            ours, python = (1 / statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(second / first for first, second in pairs)
            print(f"{model.lower():6} {ours:10.1f} {python:10.1f} {ratio:11.2f}", flush=True)
    print(f"cxx_ranks.py {rounds} {slots}; {circumstances()}")


if __name__ == "__main__":
    main()
