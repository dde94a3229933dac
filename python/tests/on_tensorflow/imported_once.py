"""What the processes of ``test_slots.py`` have in common: what ranks meet by and TensorFlow, imported and not used yet."""

import tensorflow as tf
import torch.distributed  # isort: split  # first: beside TensorFlow's modules it takes ten seconds

LOADED = (torch.distributed, tf.keras.layers.Dense, tf.estimator.Estimator)  # loads what TensorFlow loads late
