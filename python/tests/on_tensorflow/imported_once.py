"""What the processes of ``test_slots.py`` have in common: TensorFlow, imported and not used yet."""

import tensorflow as tf

LOADED = (tf.keras.layers.Dense, tf.estimator.Estimator)  # loads what TensorFlow loads late
