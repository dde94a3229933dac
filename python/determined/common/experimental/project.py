"""The projects of a master."""

from determined.experimental._project import Project

__all__ = ["Project"]
