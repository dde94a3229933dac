"""The test of a model definition without a cluster: one batch, one validation, one checkpoint, and loading it."""

from __future__ import annotations

import json
import logging
import pathlib
import re
import tempfile
from collections.abc import Mapping
from typing import Any

from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._run import _launch
from determined._run._local import DirectoryStorage, LocalClient, new_uuid
from determined._run._loop import Loop, Rules
from determined._trial import Trial

logger = logging.getLogger("determined")

_FLOAT = re.compile(r"[-+]?(?:\d[\d_]*)(?:\.[\d_]*)?(?:[eE][-+]?\d+)|[-+]?\.[\d_]+(?:[eE][-+]?\d+)?")


def read_config(path: str) -> dict[str, Any]:
    """Returns the experiment configuration in a JSON or YAML file.

    Raises:
        ValueError: the file is invalid, or it does not contain a mapping.
    """
    text = pathlib.Path(path).read_text()
    try:
        config = json.loads(text) if path.endswith(".json") else _read_yaml(text, path)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{path} contains a {type(config).__name__}; an experiment configuration must be a mapping")
    return config


def _read_yaml(text: str, path: str) -> Any:
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        raise ValueError(
            "reading YAML needs the package PyYAML; install it, or pass the configuration as JSON"
        ) from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Reads 1e-4 as a number, as in YAML 1.2."""

    Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(_FLOAT.pattern + r"\Z"), list("-+.0123456789"))
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def test_one_batch(
    trial_class: type[Trial] | None,
    config: Mapping[str, Any],
    *,
    rules: Rules,
    directory: str | None = None,
) -> None:
    """Trains one batch, validates, saves a checkpoint, and loads it into a second trial.

    Raises:
        Exception: the error of the trial; no files are left behind.
    """
    if trial_class is None:
        _launch.check_entrypoint(config)
    env = EnvContext.for_debugging(config, managed=True)
    source = SourceSnapshot(directory) if directory else None
    if trial_class is None:
        assert source is not None
        trial_class = _launch.load(env, source)
    with tempfile.TemporaryDirectory(prefix="determined-test-") as place:
        storage = DirectoryStorage(place)
        client = LocalClient([1], smaller_is_better=env.experiment_config.smaller_is_better())
        _run(trial_class, env, client, storage, rules, source)
        saved = [value["uuid"] for kind, _, value in client.reports if kind == "checkpoint"]
        if not saved:
            raise RuntimeError(
                "the trial called set_stop_requested() before its first batch, so nothing was tested; remove that call"
            )
        logger.info("loading the checkpoint into a second trial")
        again = EnvContext(
            **{f: getattr(env, f) for f in ("experiment_config", "hparams", "trial_seed", "test_mode")},
            latest_checkpoint=saved[-1],
        )
        _run(trial_class, again, LocalClient([1]), storage, rules, source)
    logger.info("the test of %s passed", trial_class.__name__)


def _run(
    trial_class: type[Trial],
    env: EnvContext,
    client: LocalClient,
    storage: DirectoryStorage,
    rules: Rules,
    source: SourceSnapshot | None,
) -> None:
    context, controller = _launch.build(trial_class, env, source=source)
    try:
        loop = Loop(
            context=context, controller=controller, client=client, storage=storage, rules=rules, new_uuid=new_uuid
        )
        loop.start()
        loop.run()
    finally:
        controller.close()
