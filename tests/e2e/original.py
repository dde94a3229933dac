"""The original's own client from PyPI."""

import kept_environment

VERSION = "0.38.1"


def install():
    """The programs of a virtual environment with that client."""
    return kept_environment.install(f"original-client-{VERSION}", f"determined=={VERSION}")
