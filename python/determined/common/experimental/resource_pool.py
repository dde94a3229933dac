"""The resource pools of a master."""

from determined.experimental._resource_pool import ResourcePool

__all__ = ["ResourcePool"]
