"""Ports that are free."""

import contextlib
import random
import socket


def free_ports(count):
    """Ports below those that the kernel gives to connections: a node that comes back finds its own still free."""
    chosen = []
    while len(chosen) < count:
        port = random.SystemRandom().randrange(12000, 32000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("", port))
            chosen += [port] if port not in chosen else []
    return chosen
