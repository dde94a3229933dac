"""Errors that users meet.

:class:`InvalidExperimentException` derives from ``BaseException``: user code that catches ``Exception`` must not
swallow the news that its own set-up is unusable.
"""

from __future__ import annotations

from determined.common.check import CheckFailedError


class InvalidExperimentException(BaseException):
    """The model definition cannot be run as it is."""


class InvalidDataTypeException(InvalidExperimentException):
    """Data of a type that the framework's trial does not take."""

    def __init__(self, data_type: type, message: str) -> None:
        super().__init__(f"data of type {data_type.__name__}: {message}")
        self.data_type = data_type


class InvalidConfigurationException(InvalidExperimentException):
    """A configuration that the trial cannot be run with."""

    def __init__(self, configuration: object, message: str) -> None:
        super().__init__(message)
        self.configuration = configuration


class InvalidModelException(InvalidExperimentException):
    """A model that the framework's trial does not take."""


class CheckpointStateException(Exception):
    """The checkpoint's files are not there: it is deleted, or was never completed."""


class NoDirectStorageAccess(FileNotFoundError):
    """The storage of a checkpoint cannot be seen from here; its master may be asked for the files."""


class InternalException(Exception):
    """The library was used out of order."""


class StopLoadingImplementation(Exception):
    """Ends a user's script once its trial is known."""


class WorkerFinishedGracefully(Exception):
    """Leaves a loop that the framework owns when the platform asks for the end."""


class WorkerError(Exception):
    """Another process of the trial died."""


class SkipWorkloadException(Exception):
    """The current workload is not to be reported."""


class InvalidHP(Exception):
    """Raise it when a combination of hyperparameters cannot work: the searcher then goes on without this trial."""

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
