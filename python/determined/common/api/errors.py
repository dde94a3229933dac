"""What can go wrong between a program and its master."""

from __future__ import annotations


class MasterNotFoundException(Exception):
    """Nothing answers at the master's address, or what answers is no master."""


class BadResponseException(MasterNotFoundException):
    """What answers is no master: the answer is not of the form that one has."""


class APIException(Exception):
    """The master refused a call. ``status_code`` is the HTTP status; the text is the master's own."""

    def __init__(self, message: str, status_code: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.status_code = status_code


class BadRequestException(APIException):
    """The call says something that cannot be, such as pausing a finished experiment (400)."""


class UnauthenticatedException(APIException):
    """Nobody is logged in, or the password is wrong (401)."""


class InvalidCredentialsException(UnauthenticatedException):
    """There is no such user, or the password is wrong (401)."""


class ForbiddenException(APIException):
    """The user may not do this (403)."""


class NotFoundException(APIException):
    """There is no such thing; the text names it (404)."""


class ConflictException(APIException):
    """A thing of that name is there already (409)."""


class GoneException(APIException):
    """The allocation that speaks is over (410)."""


_BY_STATUS: dict[int, type[APIException]] = {
    400: BadRequestException,
    401: UnauthenticatedException,
    403: ForbiddenException,
    404: NotFoundException,
    409: ConflictException,
    410: GoneException,
}


def from_status(status: int, message: str) -> APIException:
    """The exception for an answer of the master that is not a good one."""
    return _BY_STATUS.get(status, APIException)(message, status)
