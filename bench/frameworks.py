"""How long does a search of a thousand trivial trials take here, in Ray Tune and in Optuna, at random and by ASHA?

A trial computes one number from one hyperparameter, so the time is the framework's. The frameworks promise different
things:

- here, a trial is a process of its own on its own slot, forked from one that has imported PyTorch. With `reuse: true`,
  many trials share a process per slot. Each validation is durable before the trial continues, logs are kept, and
  everything survives `kill -9`;
- Ray Tune runs a trial as an actor: a new process per trial, or with `reuse` one process for many trials;
- Optuna calls a function in its own process, without isolation. Only its storage survives; it is measured in memory and
  in SQLite, which is the closer comparison.

Ray and Optuna are not in this project's environment. Install them into a separate one and name its Python:

    python3 -m venv ~/.cache/det-bench/venv && ~/.cache/det-bench/venv/bin/pip install 'ray[tune]' optuna
    python bench/frameworks.py [trials, default 1000] [at once, default the cores] [~/.cache/det-bench/venv/bin/python]
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time

from platform_under_test import ROOT, circumstances, platform

RAY = """
import os, sys, time
os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
import ray
from ray import tune
trials, at_once, reuse = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "reuse"
ray.init(num_cpus=at_once, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
scheduler = None
def trial(config):
    tune.report({"loss": (config["x"] - 0.3) ** 2})
if sys.argv[4] == "asha":
    scheduler = tune.schedulers.ASHAScheduler(max_t=16, grace_period=1, reduction_factor=4)
    def trial(config):
        for _ in range(16):
            tune.report({"loss": (config["x"] - 0.3) ** 2})
run_config = {}
try:
    from ray.tune import RunConfig
    run_config = {"run_config": RunConfig(verbose=0)}
except ImportError:
    pass
begin = time.monotonic()
tuner = tune.Tuner(
    tune.with_resources(trial, {"cpu": 1}),
    param_space={"x": tune.uniform(0, 1)},
    tune_config=tune.TuneConfig(
        metric="loss", mode="min", num_samples=trials, reuse_actors=reuse, scheduler=scheduler
    ),
    **run_config,
)
results = tuner.fit()
seconds = time.monotonic() - begin
assert len(results) == trials and not results.errors, results.errors
print("RESULT", seconds, results.get_best_result().metrics["loss"], ray.__version__)
"""

OPTUNA = """
import os, sys, tempfile, time
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
trials, at_once, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
with tempfile.TemporaryDirectory() as directory:
    storage = f"sqlite:///{directory}/optuna.db" if kind == "sqlite" else None
    begin = time.monotonic()
    study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(lambda t: (t.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=trials, n_jobs=at_once)
    seconds = time.monotonic() - begin
    assert len(study.trials) == trials
    print("RESULT", seconds, study.best_value, optuna.__version__)
"""


def other(python: str, name: str, program: str, trials: int, at_once: int, kind: str, search: str = "random") -> None:
    words = [python, "-c", program, str(trials), str(at_once), kind, search]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=1800, check=False)
    except subprocess.TimeoutExpired:
        print(f"{name}: still running after 30 minutes", flush=True)
        return
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if not found:
        print(f"{name}: failed: {(done.stderr.strip().splitlines() or ['it printed nothing'])[-1]}", flush=True)
        return
    _, seconds, best, version = found[-1].split()
    show(f"{name} {version}", trials, float(seconds), float(best))


def show(name: str, trials: int, seconds: float, best: float) -> None:
    print(
        f"{name}: {trials} trials in {seconds:.1f} s, {1e3 * seconds / trials:.1f} ms per trial, best {best:.2g}; "
        f"load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


SEARCHES = {
    "random": "name: random, max_length: {batches: 1}",
    "asha": "name: async_halving, num_rungs: 3, divisor: 4, max_length: {batches: 16}",
}


def ours(name: str, trials: int, at_once: int, reuse: str, search: str = "random") -> None:
    searcher = f"{{metric: loss, max_trials: {trials}, max_concurrent_trials: {at_once}, {SEARCHES[search]}}}"
    model = ROOT / "bench" / "models" / "point"
    with platform("--slots", str(at_once), until_exit=True) as server:
        warming = server.submit(model, searcher="{name: single, metric: loss, max_length: {batches: 1}}")
        server.wait_until_over(warming)
        time.sleep(3)
        begin = time.monotonic()
        experiment = server.submit(model, searcher=searcher, reuse=reuse)
        while (state := server.state(experiment)) not in ("STATE_COMPLETED", "STATE_ERROR", "STATE_CANCELED"):
            if time.monotonic() - begin > 1800:
                sys.exit("this platform: still running after 30 minutes")
            time.sleep(0.1)
        seconds = time.monotonic() - begin
        if state != "STATE_COMPLETED":
            sys.exit(f"the search is {state}")
        best = server.call("GET", f"/api/v1/experiments/{experiment}/trials?limit=-1")["trials"]
        if len(best) != trials or any(t["state"] != "STATE_COMPLETED" for t in best):
            sys.exit(f"{len(best)} trials: {sorted({t['state'] for t in best})}")
        losses = [t["bestValidation"]["metrics"]["avgMetrics"]["loss"] for t in best]
    show(name, trials, seconds, min(losses))


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    at_once = int(sys.argv[2]) if len(sys.argv) > 2 else os.cpu_count() or 1
    home = pathlib.Path.home() / ".cache" / "det-bench" / "venv" / "bin" / "python"
    python = sys.argv[3] if len(sys.argv) > 3 else str(home)
    ours("this platform, a process per trial", trials, at_once, "false")
    ours("this platform, processes reused", trials, at_once, "true")
    ours("this platform, ASHA, a process per trial", trials, at_once, "false", "asha")
    ours("this platform, ASHA, processes reused", trials, at_once, "true", "asha")
    if not pathlib.Path(python).exists():
        sys.exit(f"skipped Ray and Optuna: {python} does not exist; install them as the head of this file says")
    other(python, "Optuna, in memory", OPTUNA, trials, at_once, "memory")
    other(python, "Optuna, SQLite", OPTUNA, trials, at_once, "sqlite")
    other(python, "Ray Tune, actors reused", RAY, trials, at_once, "reuse")
    few = max(1, trials // 20)  # a second or more each
    other(python, "Ray Tune, one actor per trial", RAY, few, at_once, "anew")
    other(python, "Ray Tune, ASHA, actors reused", RAY, trials, at_once, "reuse", "asha")
    other(python, "Ray Tune, ASHA, one actor per trial", RAY, few, at_once, "anew", "asha")
    print(f"frameworks.py {trials} {at_once}; {circumstances()}")


if __name__ == "__main__":
    main()
