"""Which variables of a graph belong to an optimizer."""

from __future__ import annotations


def is_slot(name: str, trained: set[str]) -> bool:
    """Whether a variable belongs to an optimizer, according to TensorFlow's names for such variables."""
    if any(name.startswith(f"{one}/") for one in trained):
        return True
    return name.rpartition("/")[2].startswith(("beta1_power", "beta2_power")) or name.startswith("training/")
