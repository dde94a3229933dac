"""A small network in JAX and Flax; a step is a pass over the data."""

import jax
import jax.numpy as jnp
import optax
from digits import load, loop
from flax import linen, serialization

import determined as det

info = det.get_cluster_info()
x, x_test, y, y_test = load()
SIZE = 64


class Network(linen.Module):
    @linen.compact
    def __call__(self, pixels):
        return linen.Dense(10)(linen.relu(linen.Dense(info.trial.hparams["width"])(pixels)))


network, optimizer = Network(), optax.adam(info.trial.hparams["learning_rate"])
key = jax.random.key(info.trial.trial_seed)
weights = network.init(key, x[:1])
state = {"weights": weights, "optimizer": optimizer.init(weights)}


@jax.jit
def one_batch(state, pixels, labels):
    def loss(weights):
        return optax.softmax_cross_entropy_with_integer_labels(network.apply(weights, pixels), labels).mean()

    updates, new = optimizer.update(jax.grad(loss)(state["weights"]), state["optimizer"])
    return {"weights": optax.apply_updates(state["weights"], updates), "optimizer": new}


def train_to(step):
    global state
    order = jax.random.permutation(jax.random.fold_in(key, step), len(x))
    for batch in order[: len(x) // SIZE * SIZE].reshape(-1, SIZE):
        state = one_batch(state, x[batch], y[batch])
    return {"accuracy": float((jnp.argmax(network.apply(state["weights"], x_test), 1) == y_test).mean())}


def save(path):
    (path / "state.msgpack").write_bytes(serialization.to_bytes(state))


def restore(path):
    global state
    state = serialization.from_bytes(state, (path / "state.msgpack").read_bytes())


with det.core.init() as context:
    loop(context, info.latest_checkpoint, restore, save, train_to)
