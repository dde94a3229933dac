"""Programs that run inside a trial's process: ``python -m determined.exec.trial`` and its siblings."""
