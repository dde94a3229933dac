"""Boosted trees of LightGBM; a step is a round."""

import lightgbm
from digits import load, loop

import determined as det

info = det.get_cluster_info()
x, x_test, y, y_test = load()
parameters = {"objective": "multiclass", "num_class": 10, "num_threads": 1, "verbose": -1, "deterministic": True}
parameters |= {"seed": info.trial.trial_seed, "num_leaves": info.trial.hparams["num_leaves"]}
parameters |= {"learning_rate": info.trial.hparams["learning_rate"]}
model = None


def train_to(step):
    global model
    model = lightgbm.train(
        parameters, lightgbm.Dataset(x, y), num_boost_round=1, init_model=model, keep_training_booster=False
    )
    return {"accuracy": float((model.predict(x_test).argmax(1) == y_test).mean())}


def save(path):
    model.save_model(path / "model.txt")


def restore(path):
    global model
    model = lightgbm.Booster(model_file=path / "model.txt")


with det.core.init() as context:
    loop(context, info.latest_checkpoint, restore, save, train_to)
