"""The models of a master."""

from determined.experimental._model import Model
from determined.experimental._model_version import ModelVersion
from determined.experimental._order import ModelOrderBy, ModelSortBy, OrderBy

__all__ = ["Model", "ModelOrderBy", "ModelSortBy", "ModelVersion", "OrderBy"]
