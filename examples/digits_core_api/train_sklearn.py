"""A linear classifier of scikit-learn; a step is a pass over the data."""

import pickle

import numpy as np
from digits import load, loop
from sklearn.linear_model import SGDClassifier

import determined as det

info = det.get_cluster_info()
x, x_test, y, y_test = load()
state = {"model": SGDClassifier(alpha=info.trial.hparams["alpha"], loss="log_loss")}
state["generator"] = np.random.RandomState(info.trial.trial_seed)


def train_to(step):
    order = state["generator"].permutation(len(x))
    state["model"].set_params(random_state=state["generator"].randint(2**31))
    state["model"].partial_fit(x[order], y[order], classes=range(10))
    return {"accuracy": state["model"].score(x_test, y_test)}


def save(path):
    (path / "state.pkl").write_bytes(pickle.dumps(state))


def restore(path):
    state.update(pickle.loads((path / "state.pkl").read_bytes()))


with det.core.init() as context:
    loop(context, info.latest_checkpoint, restore, save, train_to)
