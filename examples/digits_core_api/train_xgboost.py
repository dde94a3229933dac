"""Boosted trees of XGBoost; a step is a round."""

import xgboost
from digits import load, loop

import determined as det

info = det.get_cluster_info()
x, x_test, y, y_test = load()
parameters = {"objective": "multi:softprob", "num_class": 10, "nthread": 1, "seed": info.trial.trial_seed}
parameters |= {"max_depth": info.trial.hparams["max_depth"], "eta": info.trial.hparams["learning_rate"]}
booster = xgboost.Booster(parameters, [data := xgboost.DMatrix(x, y), test := xgboost.DMatrix(x_test)])


def train_to(step):
    booster.update(data, step - 1)
    return {"accuracy": float((booster.predict(test).argmax(1) == y_test).mean())}


def save(path):
    booster.save_model(path / "model.ubj")


def restore(path):
    booster.load_model(path / "model.ubj")
    booster.set_param(parameters)


with det.core.init() as context:
    loop(context, info.latest_checkpoint, restore, save, train_to)
