"""The content of a PyTorch checkpoint.

``state-dict.pth`` is a dict with four keys, for users: ``models_state_dict``, ``optimizers_state_dict``,
``lr_schedulers_state_dict`` (lists in the order of wrapping) and ``callbacks``; a fifth, ``other_parameters``, exists
if optimizers have parameters that are in no wrapped model. ``trial-state.pth`` contains what else a trial needs to
resume without a difference: random number generators, gradients that are not yet applied, the gradient scaler and the
loop. Older checkpoints, with one file and other names, can be read.

``state_dict.pth``, the former name, is a hard link to ``state-dict.pth``. It is not written to buckets, where it would
be stored twice; a download with :class:`~determined.experimental.Checkpoint` creates it.
"""

from __future__ import annotations

import io
import logging
import pathlib
from typing import Any

import torch

from determined._compat import zip_strict
from determined._definition import _trial_files
from determined.common import check
from determined.pytorch import _staging
from determined.pytorch._context import PyTorchTrialContext

logger = logging.getLogger("determined.pytorch")

STATE_FILE = "state-dict.pth"
TRIAL_FILE = "trial-state.pth"
_STATE_FILES = (STATE_FILE, "state_dict.pth", "determined/state_dict.pth", "pedl/state_dict.pth", "checkpoint.pt")
_SINGLE = {
    "model_state_dict": "models_state_dict",
    "optimizer_state_dict": "optimizers_state_dict",
    "lr_scheduler": "lr_schedulers_state_dict",
}


def user_state(context: PyTorchTrialContext, callbacks: dict[str, Any]) -> dict[str, Any]:
    """The documented part of a checkpoint."""
    state = {
        "models_state_dict": [model.state_dict() for model in context.models],
        "optimizers_state_dict": [optimizer.state_dict() for optimizer in context.optimizers],
        "lr_schedulers_state_dict": [scheduler.state_dict() for scheduler in context.lr_schedulers],
        "callbacks": callbacks,
    }
    if others := _other_parameters(context):
        state["other_parameters"] = [parameter.detach() for parameter in others]
    return state


def read(directory: str, *, mapped: bool = False, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the documented part and the rest, from a checkpoint of any generation.

    With ``mapped``, the tensors of ``models_state_dict`` are the file's own pages: copy them, and keep none, because
    the file may be deleted.
    """
    root = pathlib.Path(directory)
    found = next((root / name for name in _STATE_FILES if (root / name).is_file()), None)
    if found is None:
        raise FileNotFoundError(f"checkpoint {root.name} has no {STATE_FILE}; it is not a checkpoint of a PyTorchTrial")
    state = _load_mapped(found, options) if mapped else _load(found, options)
    for single, plural in _SINGLE.items():
        if plural not in state:
            state[plural] = [state.pop(single)] if single in state else []
    state.setdefault("callbacks", {})
    rest = _load(root / TRIAL_FILE, {}) if (root / TRIAL_FILE).is_file() else {}
    for name in ("rng_state", "scaler_state_dict"):
        if name in state:
            rest.setdefault(name, state.pop(name))
    return state, rest


def write(directory: str, state: dict[str, Any], rest: dict[str, Any], *, both_names: bool = True) -> None:
    root = pathlib.Path(directory)
    try:
        torch.save(state, root / STATE_FILE)
    except Exception:
        for name, value in (state.get("callbacks") or {}).items():
            _check_state_of(name, value)
        raise
    torch.save(rest, root / TRIAL_FILE)
    if both_names:
        _trial_files.add_older_name(root)


def _check_state_of(callback: str, value: Any) -> None:
    try:
        torch.save(value, io.BytesIO())
    except Exception as error:
        raise TypeError(f"the state_dict() of callback {callback!r} can't be saved: {error}") from error


def _load(path: pathlib.Path, options: dict[str, Any]) -> dict[str, Any]:
    state = torch.load(path, **{"map_location": "cpu", "weights_only": False, **options})
    check.is_instance(state, dict, f"content of {path.name} in the checkpoint")
    return dict(state)


def _load_mapped(path: pathlib.Path, options: dict[str, Any]) -> dict[str, Any]:
    """Saves one copy of the models, which are copied into those of the trial anyway."""
    try:
        state = _load(path, {"mmap": True, **options})
    except RuntimeError:  # a file of PyTorch before 1.6, or a damaged one, of which the other way says more
        return _load(path, options)
    others = _staging.owned({name: value for name, value in state.items() if name != "models_state_dict"})
    return _load(path, options) if others is None else {**state, **others}


def load_models(context: PyTorchTrialContext, state: dict[str, Any]) -> None:
    _load_each("models", context.models, state["models_state_dict"])
    others, saved = _other_parameters(context), state.get("other_parameters")
    if saved is None:  # as in older checkpoints
        if others:
            logger.warning(
                "the checkpoint has no values of the %d parameters of optimizers that are in no wrapped model; "
                "they keep their initial values",
                len(others),
            )
        return
    shapes = [[tuple(tensor.shape) for tensor in tensors] for tensors in (saved, others)]
    if shapes[0] != shapes[1]:
        check.fail(
            f"a checkpoint with parameters of the shapes {shapes[0]} that are in no wrapped model",
            f"{shapes[1]}, as this trial has",
            "a trial can only resume with the models, optimizers and shapes that it was saved with",
        )
    with torch.no_grad():
        for parameter, value in zip_strict(others, saved):
            parameter.copy_(value)


def load_optimizers(context: PyTorchTrialContext, state: dict[str, Any]) -> None:
    _load_each("optimizers", context.optimizers, state["optimizers_state_dict"])
    _load_each("learning rate schedulers", context.lr_schedulers, state["lr_schedulers_state_dict"])


def _load_each(kind: str, things: list[Any], states: list[Any]) -> None:
    if len(things) != len(states):
        check.fail(
            f"a checkpoint with {len(states)} {kind}",
            f"{len(things)}, as this trial has",
            "a trial can only resume with the models, optimizers and shapes that it was saved with",
        )
    for thing, state in zip_strict(things, states):
        thing.load_state_dict(state)


def gradients(context: PyTorchTrialContext) -> list[torch.Tensor | None]:
    """Gradients that no step has used yet, for every parameter in a fixed order."""
    return [None if p.grad is None else p.grad.detach().to("cpu", copy=True) for p in _parameters(context)]


def mean_gradients(of_ranks: list[list[torch.Tensor | None]]) -> list[torch.Tensor | None]:
    """The same gradients for ranks of another number: what all of them together come to stays."""
    means: list[torch.Tensor | None] = []
    for each in zip_strict(*of_ranks):
        found = [gradient for gradient in each if gradient is not None]
        means.append(torch.stack(found).sum(0) / len(of_ranks) if found else None)
    return means


def restore_gradients(context: PyTorchTrialContext, saved: list[torch.Tensor | None]) -> None:
    for parameter, gradient in zip_strict(_parameters(context), saved):
        parameter.grad = None if gradient is None else gradient.to(parameter.device)


def _parameters(context: PyTorchTrialContext) -> list[torch.Tensor]:
    return [*_of_models(context).values(), *_other_parameters(context)]


def _other_parameters(context: PyTorchTrialContext) -> list[torch.Tensor]:
    """The parameters of optimizers that are in no wrapped model."""
    known = _of_models(context)
    found: dict[int, torch.Tensor] = {}
    for optimizer in context.optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in known:
                    found.setdefault(id(parameter), parameter)
    return list(found.values())


def _of_models(context: PyTorchTrialContext) -> dict[int, torch.Tensor]:
    return {id(parameter): parameter for model in context.models for parameter in model.parameters()}
