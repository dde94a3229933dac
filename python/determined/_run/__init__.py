"""Running a trial, from its class to its end.

- ``_launch``: seeds the process, then builds context, trial and controller; ``_random_state``: the shared generators
- ``_loop``: asks the runtime for the next action and executes it; ``_profiling``: profiles the machine meanwhile
- ``_local``: stands in for a master and its storage; ``_local_run``: tests a model definition with them
"""
