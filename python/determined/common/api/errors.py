"""The exceptions of calls to the master."""

from __future__ import annotations


class MasterNotFoundException(Exception):
    """No master answers at the address."""


class BadResponseException(MasterNotFoundException):
    """The server at the address is not a Determined master, according to its response."""


class APIException(Exception):
    """The master refused a call. ``status_code`` is the HTTP status; the message is the master's."""

    def __init__(self, message: str, status_code: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.status_code = status_code


class BadRequestException(APIException):
    """The call is invalid or currently not possible, such as pausing a finished experiment (400)."""


class UnauthenticatedException(APIException):
    """No user is logged in, or the password is wrong (401)."""


class InvalidCredentialsException(UnauthenticatedException):
    """The user does not exist, or the password is wrong (401)."""


class ForbiddenException(APIException):
    """The user lacks the permission (403)."""


class NotFoundException(APIException):
    """The object does not exist; the message names it (404)."""


class ConflictException(APIException):
    """An object of that name already exists (409)."""


class GoneException(APIException):
    """The allocation of the calling task has ended (410)."""


_BY_STATUS: dict[int, type[APIException]] = {
    400: BadRequestException,
    401: UnauthenticatedException,
    403: ForbiddenException,
    404: NotFoundException,
    409: ConflictException,
    410: GoneException,
}


def from_status(status: int, message: str) -> APIException:
    """Returns the exception for an error response."""
    return _BY_STATUS.get(status, APIException)(message, status)
