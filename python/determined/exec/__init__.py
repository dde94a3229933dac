"""Programs that run as a task's process, such as ``python -m determined.exec.trial``."""
