"""The end of a trial's process."""

import subprocess
import sys

PROGRAM = """
import atexit, threading, time, weakref
import torch
from determined.exec import _ending

class Thing: pass
mine, torchs = Thing(), Thing()
weakref.finalize(mine, print, "what the user wants at the end")
take_apart = lambda: print("what PyTorch would take apart")
take_apart.__module__ = torch.library.__name__
weakref.finalize(torchs, take_apart)
assert any(finalizer.peek()[1].__qualname__ == "_del_library" for finalizer in weakref.finalize._registry)
atexit.register(print, "registered")
threading.Thread(target=lambda: (time.sleep(0.2), print("a thread"))).start()
_ending.wind_up()
import os
os._exit(0)
"""


def test_what_users_want_at_the_end_is_done_and_pytorch_is_not_taken_apart():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["a thread", "registered", "what the user wants at the end"], done.stderr
