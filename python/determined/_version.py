"""The version of the platform."""

__version__ = "0.1.0"
