"""What several tests of operating a cluster share."""

import pytest
from postgres import PostgresServer


@pytest.fixture(scope="module")
def postgres():
    server = PostgresServer()
    yield server
    server.end()
