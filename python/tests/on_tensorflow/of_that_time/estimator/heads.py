"""A model function with a head and Keras layers, as in TensorFlow 2.2."""

import tensorflow as tf
from people import TOWNS, people

import determined as det
from determined.estimator import EstimatorTrial, RunHook


class Told(RunHook):
    def __init__(self, context) -> None:
        self.context = context

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        with open(checkpoint_dir + "/note.txt", "w") as file:
            file.write(str(self.context.get_experiment_id()))


class HeadTrial(EstimatorTrial):
    def __init__(self, context: det.estimator.EstimatorTrialContext) -> None:
        self.context = context

    def model_fn(self, features, labels, mode, config):
        head = tf.estimator.BinaryClassHead(loss_reduction=tf.keras.losses.Reduction.SUM_OVER_BATCH_SIZE)
        town = tf.feature_column.categorical_column_with_vocabulary_list("town", TOWNS)
        age = tf.feature_column.numeric_column("age", normalizer_fn=lambda x: x / 70.0)
        columns = [age, tf.feature_column.embedding_column(town, 2)]
        training = mode == tf.estimator.ModeKeys.TRAIN
        x = tf.keras.layers.DenseFeatures(columns)(features, training=training)
        x = tf.keras.layers.Dense(8, activation=tf.nn.leaky_relu)(x)
        if training:
            x = tf.nn.dropout(x, rate=0.1)
        logits = tf.keras.layers.Dense(1)(x)
        optimizer = tf.keras.optimizers.Adagrad(lr=0.1, decay=0.01)
        optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
        optimizer = self.context.wrap_optimizer(optimizer)
        variables = tf.compat.v1.trainable_variables()
        return head.create_estimator_spec(
            features, mode, logits, labels=labels, optimizer=optimizer, trainable_variables=variables
        )

    def build_estimator(self):
        config = tf.estimator.RunConfig(tf_random_seed=1, save_checkpoints_steps=100, keep_checkpoint_max=2)
        made = tf.estimator.Estimator(self.model_fn, config=config)

        def recall(labels, predictions):
            metric = tf.keras.metrics.Recall(name="own_recall")
            metric.update_state(labels, predictions["class_ids"])
            return {"own_recall": metric}

        return tf.estimator.add_metrics(made, recall)

    def data(self, seed):
        dataset = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(people(24, seed)))
        return dataset.shuffle(24, seed=3).batch(self.context.get_per_slot_batch_size())

    def build_train_spec(self):
        return tf.estimator.TrainSpec(lambda: self.data(1), hooks=[Told(self.context)])

    def build_validation_spec(self):
        exporter = tf.estimator.LatestExporter("latest", lambda: None)
        return tf.estimator.EvalSpec(lambda: self.data(2), steps=3, exporters=[exporter])
