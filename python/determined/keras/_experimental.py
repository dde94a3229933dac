"""``context.experimental``: features that may still change."""

from __future__ import annotations

from determined._tensorflow._data_layer import CachingContext


class TFKerasExperimentalContext(CachingContext):
    """Cached data sets."""
