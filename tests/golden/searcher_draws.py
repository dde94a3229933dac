"""Writes searcher_draws.json: what searches must draw, as NumPy draws it.

    python tests/golden/searcher_draws.py > tests/golden/searcher_draws.json

Every draw is one of NumPy's legacy `RandomState` functions, so the file does not
depend on our own generator: `random_sample` for doubles, `randint` for bounded
integers, `bytes` for request ids. Order of draws: hyperparameters in ascending
order of names (nested ones at the place of their parent), request id, trial seed.
"""

import json
import uuid

import numpy

SEEDS = [0, 1, 42, 777, 2**31 - 1, 2**32 - 1]
TRIALS = 400  # some 3,000 words a seed: the generator refills its 624 words several times

HYPERPARAMETERS = {
    "act": {"type": "categorical", "vals": ["relu", "tanh", "gelu"]},
    "dropout": {"type": "double", "minval": 0.2, "maxval": 0.8},
    "k": {"type": "const", "val": 64},
    "learning_rate": {"type": "log", "base": 10, "minval": -4, "maxval": -2},
    "n": {"type": "int", "minval": 1, "maxval": 10},
    "nested": {
        "b": {"type": "categorical", "vals": [True]},
        "c": {"deep": {"type": "int", "minval": -5, "maxval": 2**40}},
        "d": {"type": "double", "minval": -1.0, "maxval": 1.0},
    },
    "wide": {"type": "int", "minval": -(2**63), "maxval": 2**63 - 1},
}


def sample(spec, stream, maxval_included):
    match spec.get("type"):
        case "const":
            return spec["val"]
        case "categorical":
            return spec["vals"][stream.randint(0, len(spec["vals"]))]
        case "int":
            # Closed upper end, so that the whole range of int64 can be asked for.
            high = spec["maxval"] if maxval_included else spec["maxval"] - 1
            return bounded(stream, spec["minval"], high)
        case "double":
            return spec["minval"] + (spec["maxval"] - spec["minval"]) * stream.random_sample()
        case "log":
            exponent = spec["minval"] + (spec["maxval"] - spec["minval"]) * stream.random_sample()
            return float(spec["base"]) ** exponent
        case _:
            return {name: sample(spec[name], stream, maxval_included) for name in sorted(spec)}


def bounded(stream, low, high):
    """A uniform integer in [low, high]; the width may be up to 2^64."""
    return low + int(stream.randint(0, high - low + 1, dtype=numpy.uint64))


def create(stream, maxval_included):
    hparams = sample(HYPERPARAMETERS, stream, maxval_included)
    request_id = uuid.UUID(bytes=stream.bytes(16), version=4)
    return {"hparams": hparams, "request_id": str(request_id), "trial_seed": bounded(stream, 0, 2**31 - 1)}


def search(seed, maxval_included):
    stream = numpy.random.RandomState(seed)
    trials = [create(stream, maxval_included) for _ in range(TRIALS)]
    # All of the first few, then the last: it is right only if everything before was.
    return {"seed": seed, "maxval_included": maxval_included, "first": trials[:3], "last": trials[-1]}


print(
    json.dumps(
        {
            "made_by": "tests/golden/searcher_draws.py",
            "numpy": numpy.__version__,
            "trials": TRIALS,
            "searches": [search(seed, included) for seed in SEEDS for included in (True, False)],
        },
        indent=1,
    )
)
