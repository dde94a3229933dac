"""TensorBoard: the files that the platform writes, and the place for the user's own files.

On a cluster, the chief's files are copied to ``<checkpoint storage>/<cluster
id>/tensorboard/experiment/<id>/trial/<id>`` after every report. Show them with ``tensorboard --logdir`` on that
directory, or on a parent directory.
"""

from determined.tensorboard._board import get_base_path

__all__ = ["get_base_path"]
