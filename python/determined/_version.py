"""The version of the platform."""

__version__ = "0.39.0"
