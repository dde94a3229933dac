"""Which variables of a graph are an optimizer's own."""

from __future__ import annotations


def is_slot(name: str, trained: set[str]) -> bool:
    """Whether a variable is of an optimizer, by TensorFlow's rule for their names."""
    if any(name.startswith(f"{one}/") for one in trained):
        return True
    return name.rpartition("/")[2].startswith(("beta1_power", "beta2_power")) or name.startswith("training/")
