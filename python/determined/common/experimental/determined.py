"""The entry point to a master."""

from determined.experimental._determined import Determined

__all__ = ["Determined"]
