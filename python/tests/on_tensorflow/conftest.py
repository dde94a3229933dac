"""Runs in the platform's environment for TensorFlow; tests/test_tensorflow.py starts it there."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE.parents[1], HERE.parent / "processes", HERE.parent, HERE):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
collect_ignore_glob = [] if importlib.util.find_spec("tensorflow") else ["test_*.py"]
