"""``ImageDataGenerator``, several GPUs by ``multi_gpu_model``, and what was only in TensorFlow 1."""

import tensorflow as tf
from data import stripes
from tensorflow.keras.preprocessing.image import ImageDataGenerator
from tensorflow.keras.utils import multi_gpu_model
from tensorflow.python.keras import backend as K  # noqa: N812
from tensorflow.python.keras.layers import LeakyReLU

from determined.keras import InputData, SequenceAdapter, TFKerasTrial


def error_rate(y_true, y_pred):
    wrong = K.not_equal(K.argmax(y_true, axis=-1), K.argmax(y_pred, axis=-1))
    return K.mean(tf.to_float(wrong))


class AugmentedTrial(TFKerasTrial):
    def __init__(self, context):
        self.context = context
        tf.logging.set_verbosity(tf.logging.ERROR)
        config = tf.ConfigProto()
        config.gpu_options.allow_growth = True
        K.set_session(tf.Session(config=config))

    def build_model(self):
        inputs = tf.keras.layers.Input(shape=(8, 8, 1))
        x = tf.keras.layers.Flatten()(inputs)
        x = tf.keras.layers.Dense(8, kernel_initializer=tf.keras.initializers.normal(stddev=0.05))(x)
        x = LeakyReLU(alpha=0.1)(x)
        x = tf.keras.layers.Lambda(lambda one: K.log(1.0 + K.abs(one)))(x)
        outputs = tf.keras.layers.Dense(2, activation="softmax")(x)
        model = multi_gpu_model(tf.keras.models.Model(inputs, outputs), gpus=2)
        model = self.context.wrap_model(model)
        model.compile(
            tf.keras.optimizers.RMSprop(lr=0.01, decay=1e-4),
            "categorical_crossentropy",
            [error_rate, "accuracy"],
            experimental_run_tf_function=False,
        )
        return model

    def flow(self, seed, **options):
        x, y = stripes(24, seed)
        generator = ImageDataGenerator(rescale=0.9, horizontal_flip=True, featurewise_center=True, **options)
        generator.fit(x)
        y = tf.keras.utils.to_categorical(y, 2)
        return generator.flow(x, y, batch_size=self.context.get_per_slot_batch_size(), shuffle=True, seed=17)

    def build_training_data_loader(self) -> InputData:
        return SequenceAdapter(self.flow(1, brightness_range=None), workers=4, use_multiprocessing=False)

    def build_validation_data_loader(self) -> InputData:
        return self.flow(2)
