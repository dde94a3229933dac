"""How far from the optimum are our searchers and Optuna's after as many trials, or as many batches?

    regret.py [SEEDS, default 20] [--only NAME,…]

Whole trials: functions whose minimum is known, 100 trials one after the other. Early stopping: learning curves over
81 batches, a budget of 60 whole trials. The figure is the regret, the best value found less the least possible one:
its median over the seeds, with quartiles. A ratio compares our median with that of Optuna's method of the same kind;
above 1, ours is smaller. Nothing is trained; the searchers are the product's (search_player) and Optuna's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
from collections.abc import Callable

import optuna
import yaml

from determined.searcher._optuna import draw

optuna.logging.set_verbosity(optuna.logging.ERROR)
ROOT = pathlib.Path(__file__).resolve().parent.parent
PLAYER = os.environ.get("SEARCH_PLAYER", ROOT / "build/release/bench/search_player")
TRIALS = 100
BATCHES = 81
WHOLE = 60  # so many whole trials are the budget of early stopping


def real(low: float, high: float) -> dict:
    return {"type": "double", "minval": low, "maxval": high}


def branin(h: dict) -> float:
    x, y = h["x"], h["y"]
    b, c, t = 5.1 / (4 * math.pi**2), 5 / math.pi, 1 / (8 * math.pi)
    return (y - b * x**2 + c * x - 6) ** 2 + 10 * (1 - t) * math.cos(x) + 10


def hartmann6(h: dict) -> float:
    alpha = (1.0, 1.2, 3.0, 3.2)
    a = ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14))
    p = (
        (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
        (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
        (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
        (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
    )
    x = [h[f"x{i}"] for i in range(6)]
    return -sum(alpha[k] * math.exp(-sum(a[k][i] * (x[i] - p[k][i]) ** 2 for i in range(6))) for k in range(4))


def rosenbrock(h: dict) -> float:
    x = [h[f"x{i:02}"] for i in range(20)]
    return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(19))


def mixed(h: dict) -> float:
    """Like the error of a small network: rates on a log scale, sizes, an activation, and an optimizer."""
    activation = {"relu": 0.0, "gelu": 0.05, "tanh": 0.2, "sigmoid": 0.5}[h["activation"]]
    best_rate = {"sgd": -1.0, "adam": -3.0, "adamw": -2.7}[h["optimizer"]]
    optimizer = {"sgd": 0.1, "adam": 0.02, "adamw": 0.0}[h["optimizer"]]
    rate = (math.log10(h["rate"]) - best_rate) ** 2 / 4
    decay = (math.log10(h["decay"]) + 4) ** 2 / 50
    return activation + optimizer + rate + decay + (h["width"] - 96) ** 2 / 20_000 + (h["layers"] - 3) ** 2 / 40


MIXED = {
    "activation": {"type": "categorical", "vals": ["relu", "gelu", "tanh", "sigmoid"]},
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam", "adamw"]},
    "rate": {"type": "log", "base": 10, "minval": -5, "maxval": 0},
    "decay": {"type": "log", "base": 10, "minval": -6, "maxval": -1},
    "width": {"type": "int", "minval": 16, "maxval": 256},
    "layers": {"type": "int", "minval": 1, "maxval": 8},
}

FUNCTIONS: dict[str, tuple[Callable[[dict], float], dict, float]] = {
    "Branin": (branin, {"x": real(-5, 10), "y": real(0, 15)}, 0.39788735773),
    "Hartmann-6": (hartmann6, {f"x{i}": real(0, 1) for i in range(6)}, -3.32236801142),
    "Rosenbrock-20": (rosenbrock, {f"x{i:02}": real(-2, 2) for i in range(20)}, 0.0),
    "mixed": (mixed, MIXED, 0.0),
}


def curve(final: float, h: dict, batches: float) -> float:
    """A loss that falls towards its final value, faster with a larger rate. Its noise depends on the point alone."""
    speed = 0.3 + 0.12 * (math.log10(h["rate"]) + 5)
    noise = random.Random(repr((sorted(h.items()), batches))).gauss(0, 0.01)
    return final + (2 - min(final, 1.5)) * batches**-speed + noise / batches**0.5


def ours(searcher: dict, space: dict, seed: int, metric: Callable[[dict, int, str], float | None]) -> None:
    """Plays one of our searchers until the metric is None or the search ends."""
    config = {
        "entrypoint": "model:Trial",
        "hyperparameters": {**space, "global_batch_size": 1},
        "searcher": {"metric": "loss", **searcher},
        "reproducibility": {"experiment_seed": seed},
    }
    with subprocess.Popen([PLAYER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as player:
        player.stdin.write(yaml.safe_dump(config) + "---\n")
        player.stdin.flush()
        for line in player.stdout:
            asked = json.loads(line)
            value = metric(asked["hparams"], asked["length"], asked["trial"])
            if value is None:
                player.kill()
                return
            player.stdin.write(f"{value!r}\n")
            player.stdin.flush()
    if player.returncode:
        raise SystemExit(f"{PLAYER} failed on {config}")


def whole_ours(searcher: dict, function: str, seed: int) -> float:
    evaluate, space, least = FUNCTIONS[function]
    values: list[float] = []

    def metric(h: dict, _length: int, _trial: str) -> float:
        values.append(evaluate(h))
        return values[-1]

    whole = {"max_trials": TRIALS, "max_concurrent_trials": 1, "max_length": {"batches": BATCHES}}
    ours({**whole, **searcher}, space, seed, metric)
    return min(values) - least


def whole_optuna(sampler: Callable[[int], optuna.samplers.BaseSampler], function: str, seed: int) -> float:
    evaluate, space, least = FUNCTIONS[function]
    study = optuna.create_study(sampler=sampler(seed))
    study.optimize(lambda trial: evaluate(draw(space, trial)), n_trials=TRIALS)
    return study.best_value - least


class Budget:
    """Batches that were trained, and the true final value of the best whole trial."""

    def __init__(self) -> None:
        self.spent = 0
        self.reached: dict[object, int] = {}
        self.best = math.inf

    def train(self, trial: object, h: dict, batches: int) -> float | None:
        """Trains up to so many batches; None: nothing is left."""
        if self.spent >= BATCHES * WHOLE:
            return None
        self.spent += max(0, batches - self.reached.get(trial, 0))
        self.reached[trial] = max(batches, self.reached.get(trial, 0))
        if batches >= BATCHES:
            self.best = min(self.best, mixed(h))
        return curve(mixed(h), h, batches)


def stopping_ours(searcher: dict, seed: int) -> float:
    budget = Budget()
    ours(searcher, MIXED, seed, lambda h, length, trial: budget.train(trial, h, length))
    return budget.best


def stopping_optuna(sampler: type, pruner: Callable[[], optuna.pruners.BasePruner], seed: int) -> float:
    budget = Budget()
    study = optuna.create_study(sampler=sampler(seed=seed), pruner=pruner())

    def objective(trial: optuna.Trial) -> float:
        h = draw(MIXED, trial)
        value = math.inf
        for batches in range(1, BATCHES + 1):
            trained = budget.train(trial.number, h, batches)
            if trained is None:
                study.stop()
                break
            value = trained
            trial.report(value, batches)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study.optimize(objective, n_trials=100_000)
    return budget.best


SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "Optuna TPESampler": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "Optuna RandomSampler": lambda seed: optuna.samplers.RandomSampler(seed=seed),
    "Optuna GPSampler": lambda seed: optuna.samplers.GPSampler(seed=seed),
    "Optuna CmaEsSampler": lambda seed: optuna.samplers.CmaEsSampler(seed=seed),
    "Optuna NSGAIISampler": lambda seed: optuna.samplers.NSGAIISampler(seed=seed),
}
SLOW = {"Optuna GPSampler"}  # minutes a study: only where it is named
WHOLE_OURS = {"tpe": {"name": "tpe"}, "random": {"name": "random"}}
HYPERBAND = {"min_resource": 1, "max_resource": BATCHES, "reduction_factor": 3}
ASHA = {
    "name": "adaptive_asha",
    "max_length": {"batches": BATCHES},
    "max_trials": 10_000,
    "max_concurrent_trials": 4,
    "divisor": 3,
    "max_rungs": 5,
    "mode": "aggressive",
}
STOPPING: dict[str, Callable[[int], float]] = {
    "adaptive_asha": lambda seed: stopping_ours(ASHA, seed),
    "adaptive_asha, stop_once": lambda seed: stopping_ours({**ASHA, "stop_once": True}, seed),
    "pbt": lambda seed: stopping_ours(
        {
            "name": "pbt",
            "population_size": 12,
            "num_rounds": 9,
            "length_per_round": {"batches": 9},
            "replace_function": {"truncate_fraction": 0.25},
            "explore_function": {"resample_probability": 0.25, "perturb_factor": 0.2},
        },
        seed,
    ),
    "Optuna random, SuccessiveHalvingPruner": lambda seed: stopping_optuna(
        optuna.samplers.RandomSampler, lambda: optuna.pruners.SuccessiveHalvingPruner(reduction_factor=3), seed
    ),
    "Optuna random, HyperbandPruner": lambda seed: stopping_optuna(
        optuna.samplers.RandomSampler, lambda: optuna.pruners.HyperbandPruner(**HYPERBAND), seed
    ),
    "Optuna TPE, HyperbandPruner": lambda seed: stopping_optuna(
        optuna.samplers.TPESampler, lambda: optuna.pruners.HyperbandPruner(**HYPERBAND), seed
    ),
}
PEERS = {
    "tpe": "Optuna TPESampler",
    "random": "Optuna RandomSampler",
    "adaptive_asha": "Optuna random, SuccessiveHalvingPruner",
    "adaptive_asha, stop_once": "Optuna random, SuccessiveHalvingPruner",
}


def show(title: str, results: dict[str, list[float]]) -> None:
    print(f"\n{title}")
    medians = {name: statistics.median(runs) for name, runs in results.items()}
    for name, runs in results.items():
        low, _, high = statistics.quantiles(runs, n=4)
        peer = PEERS.get(name)
        ratio = f"   {medians[peer] / max(medians[name], 1e-12):.2f} of {peer}" if peer in medians else ""
        print(f"  {name:40} {medians[name]:10.4g}  ({low:.4g} to {high:.4g}){ratio}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="?", type=int, default=20)
    parser.add_argument(
        "--only",
        help="functions and searchers whose names contain one of these texts; GPSampler is left out otherwise",
    )
    options = parser.parse_args()
    only = options.only.split(",") if options.only else []

    def wanted(name: str) -> bool:
        return not only or any(text.lower() in name.lower() for text in only)

    seeds = range(1, options.seeds + 1)
    functions = [name for name in FUNCTIONS if wanted(name)] or list(FUNCTIONS)
    for function in functions:
        results = {
            name: [whole_ours(searcher, function, seed) for seed in seeds] for name, searcher in WHOLE_OURS.items()
        }
        for name, sampler in SAMPLERS.items():
            if name in SLOW and not (only and wanted(name)):
                continue
            if wanted(name) or name in PEERS.values():
                results[name] = [whole_optuna(sampler, function, seed) for seed in seeds]
        show(f"{function}, {TRIALS} trials, {options.seeds} seeds", results)
    if wanted("early stopping"):
        results = {name: [play(seed) for seed in seeds] for name, play in STOPPING.items()}
        show(f"early stopping, the batches of {WHOLE} whole trials, {options.seeds} seeds", results)


if __name__ == "__main__":
    main()
