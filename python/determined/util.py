"""Small helpers for model definitions."""

from __future__ import annotations

import random
import time
from typing import Any


def download_gcs_blob_with_backoff(blob: Any, n_retries: int = 32, max_backoff: int = 32) -> bytes:
    """Reads a ``google.cloud.storage`` blob, with growing pauses between tries.

    Python's random numbers are afterwards as before: Google's client draws some for pauses of its own.

    Raises:
        Exception: what the last try raised.
    """
    pauses = random.Random()
    before = random.getstate()
    try:
        for attempt in range(n_retries):
            try:
                return bytes(blob.download_as_string())
            except Exception:
                if attempt + 1 == n_retries:
                    raise
                time.sleep(min(2.0**attempt + pauses.random(), max_backoff))
    finally:
        random.setstate(before)
    raise ValueError(f"n_retries is {n_retries}; it must be at least 1")
