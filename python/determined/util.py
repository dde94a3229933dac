"""Small helpers for model definitions."""

from __future__ import annotations

import random
import time
from typing import Any


def download_gcs_blob_with_backoff(blob: Any, n_retries: int = 32, max_backoff: int = 32) -> bytes:
    """Reads a ``google.cloud.storage`` blob, with growing pauses between tries.

    The pauses are drawn from a generator of their own, so the trial's random numbers are not touched.

    Raises:
        Exception: what the last try raised.
    """
    pauses = random.Random()
    for attempt in range(n_retries):
        try:
            return bytes(blob.download_as_string())
        except Exception:
            if attempt + 1 == n_retries:
                raise
            time.sleep(min(2.0**attempt + pauses.random(), max_backoff))
    raise ValueError(f"n_retries is {n_retries}; must be at least 1")
