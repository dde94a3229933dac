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


def test_exit_functions_run_and_pytorch_is_not_torn_down():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["a thread", "registered", "what the user wants at the end"], done.stderr


STUCK = """
import concurrent.futures, threading, time
from determined.exec import _ending

pool = concurrent.futures.ThreadPoolExecutor(1)
pool.submit(print, "in a pool")
begun = time.monotonic()
_ending.wind_up()
assert time.monotonic() - begun < 30, "an idle pool is waited for"
threading.Thread(target=time.sleep, args=(600,), name="endless").start()
_ending.wind_up(0.2)
import os
os._exit(0)
"""


def test_a_thread_that_does_not_end_is_named_and_not_waited_for_long():
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "in a pool\n"), done.stderr
    assert done.stderr.splitlines() == [
        "determined: the trial ends although these threads still run after 0 s: endless"
    ]
