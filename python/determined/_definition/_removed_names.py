"""Names that libraries have removed since model definitions of 2020 were written."""

from __future__ import annotations

# NumPy 1.24 removed these aliases of Python's own types; its own message names the same substitutes.
_NUMPY = {"bool": bool, "complex": complex, "float": float, "int": int, "long": int, "object": object, "str": str}


def restore() -> None:
    """Gives NumPy the aliases of Python's types back that it lacks, in this process, so that old code runs unmodified.

    What NumPy itself defines today (``numpy.bool`` since 2.0 is its own type) stays as it is.
    """
    import numpy

    for name, python_type in _NUMPY.items():
        if name not in vars(numpy):
            setattr(numpy, name, python_type)
