"""A step of one's own with an optimizer of one's own, and a callback that sets the rate."""

import tensorflow as tf
from data import points
from tensorflow.keras import backend as K  # noqa: N812

from determined.keras import TFKerasTrial, callbacks


class Sign(tf.keras.optimizers.Optimizer):
    """Steps by the sign of a running mean of gradients."""

    def __init__(self, learning_rate=0.01, mean=0.9, name="Sign", **kwargs):
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("mean", mean)

    def _create_slots(self, var_list):
        for var in var_list:
            self.add_slot(var, "mean")

    def _resource_apply_dense(self, grad, var, apply_state=None):
        rate = self._decayed_lr(var.dtype.base_dtype)
        share = self._get_hyper("mean", var.dtype.base_dtype)
        mean = self.get_slot(var, "mean")
        updated = mean.assign(share * mean + (1.0 - share) * grad)
        return var.assign_sub(rate * tf.sign(updated))

    def get_config(self):
        return {**super().get_config(), "learning_rate": 0.01}


class Halved(callbacks.Callback):
    def on_train_workload_end(self, total_batches_trained, logs):
        K.set_value(self.model.optimizer.lr, K.get_value(self.model.optimizer.lr) * 0.5)


class Stepped(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(8, activation="tanh")
        self.outputs_layer = tf.keras.layers.Dense(2)

    def call(self, inputs, training=None):
        x = self.hidden(inputs)
        if training:
            x = tf.nn.dropout(x, rate=0.2)
        return self.outputs_layer(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = self.compiled_loss(y, predicted, regularization_losses=self.losses)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.compiled_metrics.update_state(y, predicted)
        return {metric.name: metric.result() for metric in self.metrics}


class OwnStepTrial(TFKerasTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self):
        model = self.context.wrap_model(Stepped())
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(Sign(lr=0.02, decay=0.01), loss, ["accuracy"], experimental_steps_per_execution=1)
        return model

    def build_training_data_loader(self):
        return points(24, 1)

    def build_validation_data_loader(self):
        return points(12, 2)

    def keras_callbacks(self):
        return [Halved()]
