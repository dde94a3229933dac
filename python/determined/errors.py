"""Errors that users may see.

:class:`InvalidExperimentException` derives from ``BaseException``: user code that catches ``Exception`` must not
swallow the error that its own set-up is unusable.
"""

from __future__ import annotations

from determined.common.check import CheckFailedError


class InvalidExperimentException(BaseException):
    """The model definition cannot be run as it is."""


class InvalidDataTypeException(InvalidExperimentException):
    """The data has a type that the trial class does not support."""

    def __init__(self, data_type: type, message: str) -> None:
        super().__init__(f"data of type {data_type.__name__}: {message}")
        self.data_type = data_type


class InvalidConfigurationException(InvalidExperimentException):
    """The trial cannot run with this configuration."""

    def __init__(self, configuration: object, message: str) -> None:
        super().__init__(message)
        self.configuration = configuration


class InvalidModelException(InvalidExperimentException):
    """The trial class does not support this model."""


class CheckpointStateException(Exception):
    """The checkpoint's files are missing: it was deleted or never completed."""


class NoDirectStorageAccess(FileNotFoundError):
    """The storage of a checkpoint is not accessible from here; the master may provide the files."""


class InternalException(Exception):
    """The library was used in the wrong order."""


class StopLoadingImplementation(Exception):
    """Ends a user's script once its trial is known."""


class WorkerFinishedGracefully(Exception):
    """Leaves a loop of the framework when the platform requests the end."""


class WorkerError(Exception):
    """Another process of the trial died."""


class SkipWorkloadException(Exception):
    """The current workload is not to be reported."""


class InvalidHP(Exception):
    """Raise it if a combination of hyperparameters cannot work; the searcher then continues without this trial."""

    def __init__(self, msg: str = "the hyperparameters of this trial cannot be used") -> None:
        if not isinstance(msg, str):
            raise TypeError(f"the message of InvalidHP is a {type(msg).__name__}; it must be a str")
        super().__init__(msg)
        self.msg = msg


__all__ = [
    "CheckFailedError",
    "CheckpointStateException",
    "InternalException",
    "InvalidConfigurationException",
    "InvalidDataTypeException",
    "InvalidExperimentException",
    "InvalidHP",
    "InvalidModelException",
    "NoDirectStorageAccess",
    "SkipWorkloadException",
    "StopLoadingImplementation",
    "WorkerError",
    "WorkerFinishedGracefully",
]
