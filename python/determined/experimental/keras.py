"""The Native API for Keras: a script that trains on the cluster.

Example::

    context = determined.experimental.keras.init(config, context_dir=".")
    model = context.wrap_model(tf.keras.Sequential([tf.keras.layers.Dense(10)]))
    model.compile("adam", "mse")
    model.fit(x, y, validation_data=(x_test, y_test))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from determined.experimental import _native_context
from determined.experimental._create import Mode

if TYPE_CHECKING:
    from determined.keras._native import TFKerasNativeContext


def init(
    config: dict[str, Any] | None = None,
    local: bool = False,
    test: bool = False,
    context_dir: str = "",
    command: list[str] | Sequence[str] | None = None,
    master_url: str | None = None,
    *,
    mode: Mode | None = None,
) -> TFKerasNativeContext:
    """Starts a script that trains a Keras model. Like ``determined.experimental.estimator.init``, but ``fit`` of the
    wrapped model trains.
    """
    found: Any = _native_context.begin(_family, config, local, test, context_dir, command, master_url, mode)
    return found  # type: ignore[no-any-return]


def _family() -> tuple[Any, Any]:
    from determined.keras._controller import TFKerasTrialController
    from determined.keras._native import TFKerasNativeContext

    return TFKerasNativeContext, TFKerasTrialController
