"""A model definition: the user's source, and the trial class in it.

- ``_source``: the files as they were submitted
- ``_entrypoint``: loads the class that a configuration names; ``_native``: the one that a script submits
- ``_removed_names``: keeps old source importable
- ``_trial_files``: writes the source into a checkpoint; ``_rebuilding``: loads the class from a checkpoint
"""
