"""The workspaces of a master."""

from determined.experimental._workspace import Workspace

__all__ = ["Workspace"]
