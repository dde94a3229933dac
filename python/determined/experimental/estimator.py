"""The Native API for Estimators: a script that trains on the cluster.

Example::

    context = determined.experimental.estimator.init(config, context_dir=".")
    optimizer = context.wrap_optimizer(tf.compat.v1.train.AdamOptimizer())
    classifier = tf.compat.v1.estimator.DNNClassifier([64], columns, n_classes=10, optimizer=optimizer)
    context.train_and_evaluate(classifier, train_spec, eval_spec)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from determined.experimental import _native_context
from determined.experimental._create import Mode

if TYPE_CHECKING:
    from determined.estimator._native import EstimatorNativeContext


def init(
    config: dict[str, Any] | None = None,
    local: bool = False,
    test: bool = False,
    context_dir: str = "",
    command: list[str] | Sequence[str] | None = None,
    master_url: str | None = None,
    *,
    mode: Mode | None = None,
) -> EstimatorNativeContext:
    """Starts a script that trains an Estimator.

    When a user runs the script, it is submitted with all files of ``context_dir`` (less than 96 MB in total), its log
    is shown, and the program ends with status 0. The cluster runs the script again, with ``command`` as its arguments
    (by default those of this program). There, this function returns a context whose ``train_and_evaluate`` trains.

    ``local=True`` trains in this process: one batch, one validation and one checkpoint. ``test=True`` does the same on
    the cluster. ``master_url`` defaults to ``DET_MASTER``.

    Raises:
        InvalidExperimentException: ``context_dir`` is empty or does not contain the script, or there is no script.
        ValueError: the files are too large.
    """
    found: Any = _native_context.begin(_family, config, local, test, context_dir, command, master_url, mode)
    return found  # type: ignore[no-any-return]


def _family() -> tuple[Any, Any]:
    from determined.estimator._controller import EstimatorTrialController
    from determined.estimator._native import EstimatorNativeContext

    return EstimatorNativeContext, EstimatorTrialController
