"""TensorBoard: what the platform writes for it, and where the user's own files go.

On the cluster the chief's files are copied to
``<checkpoint storage>/<cluster id>/tensorboard/experiment/<id>/trial/<id>`` after every report. Look at them with
``tensorboard --logdir`` of that directory, or of one above it.
"""

from determined.tensorboard._board import get_base_path

__all__ = ["get_base_path"]
