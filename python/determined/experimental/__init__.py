"""Running a trial class by hand, for debugging."""

from determined.experimental._debug import create_trial_instance, test_one_batch

__all__ = ["create_trial_instance", "test_one_batch"]
