"""Names that libraries have removed since 2020, for model definitions that use them."""

from __future__ import annotations

# NumPy 1.24 removed these aliases of Python's own types; its own message names the same substitutes.
_NUMPY = {"bool": bool, "complex": complex, "float": float, "int": int, "long": int, "object": object, "str": str}


def restore() -> None:
    """Restores in this process the aliases of Python's types that NumPy has removed, so that old code runs unchanged.

    Names that NumPy defines today (such as ``numpy.bool`` since 2.0) stay unchanged.
    """
    try:
        import numpy
    except ModuleNotFoundError:
        return

    for name, python_type in _NUMPY.items():
        if name not in vars(numpy):
            setattr(numpy, name, python_type)
