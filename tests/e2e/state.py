"""What a checkpoint of PyTorch holds, as one hash: all that a trial goes on from."""

import hashlib

import numpy as np
import torch


def state_hash(directory):
    """Of weights, optimizers, schedulers, callbacks, gradients that wait, and every rank's generators."""
    state = torch.load(directory / "state-dict.pth", weights_only=False)
    rest = torch.load(directory / "trial-state.pth", weights_only=False)
    digest = hashlib.sha256()
    _add(digest, state)
    _add(digest, {name: rest.get(name) for name in ("rng_state", "gradients", "other_ranks")})
    return digest.hexdigest()


def _add(digest, value):
    if isinstance(value, torch.Tensor):
        digest.update(value.detach().numpy().tobytes())
    elif isinstance(value, np.ndarray):
        digest.update(value.tobytes())
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            digest.update(str(key).encode())
            _add(digest, value[key])
    elif isinstance(value, (list, tuple)):
        digest.update(str(len(value)).encode())
        for item in value:
            _add(digest, item)
    else:
        digest.update(repr(value).encode())
