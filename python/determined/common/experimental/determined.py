"""The entry to everything that a master knows."""

from determined.experimental._determined import Determined

__all__ = ["Determined"]
