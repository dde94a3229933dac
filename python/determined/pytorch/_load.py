"""Rebuilds a trial from the files of a checkpoint, on any machine."""

from __future__ import annotations

import contextlib
import inspect
import pathlib
from typing import Any

import torch

from determined._definition import _entrypoint, _rebuilding
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
    """Returns the trial of a checkpoint, with its weights, optimizers and schedulers, outside a cluster.

    The class comes from the checkpoint's own source (``code/``) unless ``trial_class`` is given. Its constructor is
    called with the context and ``trial_kwargs``. If it has no parameters named ``hparams`` and ``exp_conf``, these
    keywords replace the values of the context. The models are in the trial's attributes, and all of them in
    ``trial.context.models``. Everything is on the CPU unless ``torch_load_kwargs`` (or ``map_location=…``) says
    otherwise.

    Example::

        trial = load_trial_from_checkpoint_path("checkpoints/6d3b…")
        trial.model.eval()
    """
    root = pathlib.Path(path)
    described = _rebuilding.description(root)
    given, options = dict(trial_kwargs or {}), {**(torch_load_kwargs or {}), **kwargs}
    if trial_class is None:
        code = _rebuilding.source(root, "or pass trial_class")
        with _entrypoint.importable(code):
            found = _rebuilding.trial_class(described, code)
            if not issubclass(found, PyTorchTrial):
                check.fail(f"a {found.__name__} in the checkpoint", "a PyTorchTrial")
                raise AssertionError
            return _build(found, described, given, root, options)
    return _build(trial_class, described, given, root, options)


def load_model_or_trial(path: str, torch_load_kwargs: dict[str, Any]) -> PyTorchTrial | torch.nn.Module:
    """Like ``Checkpoint.load``: returns the bare model of a trial with ``build_model()``, and the trial of any other
    class.

    The options may include the keywords of :func:`load_trial_from_checkpoint_path`.
    """
    root = pathlib.Path(path)
    if _rebuilding.is_pickled_model(root):
        return _unpickled_model(root, torch_load_kwargs)
    trial = load_trial_from_checkpoint_path(path, **torch_load_kwargs)
    if _generation.is_classic(type(trial)):
        model: torch.nn.Module = trial.context.models[0]
        return model
    return trial


def _unpickled_model(root: pathlib.Path, options: dict[str, Any]) -> torch.nn.Module:
    """The model of a checkpoint of version 0.12.4 or older, whose modules must be importable."""
    code = pathlib.Path(_rebuilding.source(root, "its model.pth is a model pickled by reference to that source"))
    with contextlib.ExitStack() as stack:
        for directory in [*sorted(entry for entry in code.iterdir() if entry.is_dir()), code]:
            stack.enter_context(_entrypoint.importable(directory))
        model = torch.load(root / "model.pth", **{"map_location": "cpu", "weights_only": False, **options})
    check.is_instance(model, torch.nn.Module, f"content of model.pth in checkpoint {root.name}")
    return model  # type: ignore[no-any-return]


def _build(
    trial_class: type[PyTorchTrial],
    described: dict[str, Any],
    given: dict[str, Any],
    root: pathlib.Path,
    options: dict[str, Any],
) -> PyTorchTrial:
    taken = inspect.signature(trial_class).parameters
    values = {"hparams": described["hparams"], "exp_conf": described["experiment_config"]}
    for name in values:
        if name in given and name not in taken:
            values[name] = given.pop(name) or values[name]
    context = PyTorchTrialContext(
        free_env(
            experiment_config=ExperimentConfig(values["exp_conf"]),
            hparams=dict(values["hparams"]),
            trial_seed=0,
            managed_training=False,
        )
    )
    try:
        inspect.signature(trial_class).bind(context, **given)
    except TypeError as error:
        raise TypeError(
            f"{trial_class.__name__}() is called with the context and trial_kwargs, {', '.join(given) or 'nothing'}: "
            f"{error}"
        ) from None
    trial = trial_class(context, **given)
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
