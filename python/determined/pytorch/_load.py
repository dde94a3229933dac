"""Builds a trial again from the files of a checkpoint, anywhere."""

from __future__ import annotations

import pathlib
from typing import Any

import torch

from determined import _entrypoint, _rebuilding
from determined._experiment_config import ExperimentConfig
from determined.common import check
from determined.pytorch import _generation, _state
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._trainer_context import free_env
from determined.pytorch._trial import PyTorchTrial


def load_trial_from_checkpoint_path(
    path: str,
    trial_class: type[PyTorchTrial] | None = None,
    trial_kwargs: dict[str, Any] | None = None,
    torch_load_kwargs: dict[str, Any] | None = None,
    **kwargs: Any,
) -> PyTorchTrial:
    """The trial of a checkpoint, with its weights, optimizers and schedulers, outside the platform.

    The class is that of the checkpoint's own source (``code/``) unless ``trial_class`` is given; ``trial_kwargs`` may
    replace ``hparams`` and ``exp_conf``. Models are where the trial keeps them; ``trial.context.models`` has all.
    Everything is on the CPU unless ``torch_load_kwargs`` (or ``map_location=…``) says otherwise.

    Example::

        trial = load_trial_from_checkpoint_path("checkpoints/6d3b…")
        trial.model.eval()
    """
    root = pathlib.Path(path)
    described = _rebuilding.description(root)
    changes = trial_kwargs or {}
    env = free_env(
        experiment_config=ExperimentConfig(changes.get("exp_conf") or described["experiment_config"]),
        hparams=dict(changes.get("hparams") or described["hparams"]),
        trial_seed=0,
        managed_training=False,
    )
    context = PyTorchTrialContext(env)
    if trial_class is None:
        code = _rebuilding.source(root, "or pass trial_class")
        with _entrypoint.importable(code):
            found = _rebuilding.trial_class(described, code)
            if not issubclass(found, PyTorchTrial):
                check.fail(f"a {found.__name__} in the checkpoint", "a PyTorchTrial")
                raise AssertionError
            return _build(found, context, root, {**(torch_load_kwargs or {}), **kwargs})
    return _build(trial_class, context, root, {**(torch_load_kwargs or {}), **kwargs})


def load_model_or_trial(path: str, torch_load_kwargs: dict[str, Any]) -> PyTorchTrial | torch.nn.Module:
    """As ``Checkpoint.load`` has it: the bare model of a classic trial, the trial of any other."""
    trial = load_trial_from_checkpoint_path(path, torch_load_kwargs=torch_load_kwargs)
    if _generation.is_classic(type(trial)):
        model: torch.nn.Module = trial.context.models[0]
        return model
    return trial


def _build(
    trial_class: type[PyTorchTrial], context: PyTorchTrialContext, root: pathlib.Path, options: dict[str, Any]
) -> PyTorchTrial:
    trial = trial_class(context)
    if not hasattr(trial, "context"):
        trial.context = context
    calls = _generation.prepare(trial, context)
    state, _rest = _state.read(str(root), **options)
    calls.callbacks.call("on_checkpoint_load_start", state)
    _state.load_models(context, state)
    _state.load_optimizers(context, state)
    device = options.get("map_location")
    if isinstance(device, (str, torch.device)):
        for model in context.models:
            model.to(device)
    return trial
