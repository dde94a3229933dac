"""The users of a master."""

from determined.experimental._user import User

__all__ = ["User"]
