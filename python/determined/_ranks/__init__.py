"""The processes of one trial: how they find each other, exchange values, and end together.

- ``_distributed``: the interface that a trial sees, and its form for a single process
- ``_meeting``: rendezvous through the master; ``_torchrun``: rendezvous of processes that ``torchrun`` started
- ``_group``: the connected ranks, which exchange values over Gloo
- ``_watch``: detects a rank that failed, hangs or is lost; ``_end``: lets one rank say why the trial ends
"""
