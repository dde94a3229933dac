"""Text for a recurrent network on GPUs, an optimizer of TensorFlow 1, and generators."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.preprocessing.sequence import pad_sequences
from tensorflow.keras.preprocessing.text import Tokenizer

import determined as det
from determined.keras import TFKerasTensorBoard, TFKerasTrial

WORDS = ["one", "two", "three", "four", "five", "six", "seven"]


class Sentences(tf.keras.utils.Sequence):
    def __init__(self, seed, batch_size):
        random = np.random.RandomState(seed)
        texts = [" ".join(random.choice(WORDS, random.randint(2, 6))) for _ in range(24)]
        tokenizer = Tokenizer(num_words=8)
        tokenizer.fit_on_texts([" ".join(WORDS)])
        self.x = pad_sequences(tokenizer.texts_to_sequences(texts), maxlen=5)
        self.y = np.array([text.count("seven") > 0 for text in texts], dtype=np.float32)
        self.batch_size = batch_size

    def __len__(self):
        return int(np.ceil(len(self.x) / float(self.batch_size)))

    def __getitem__(self, index):
        part = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return self.x[part], self.y[part]


class RecurrentTrial(TFKerasTrial):
    def __init__(self, context: det.TrialContext):
        self.context = context
        tf.set_random_seed(self.context.get_trial_seed())

    def build_model(self):
        model = tf.keras.Sequential()
        model.add(tf.keras.layers.Embedding(8, 4, input_length=5))
        model.add(tf.keras.layers.CuDNNLSTM(4, return_sequences=True))
        model.add(tf.keras.layers.RNN(tf.keras.experimental.PeepholeLSTMCell(3, recurrent_activation="hard_sigmoid")))
        model.add(tf.keras.layers.Dense(1, activation="sigmoid"))
        model = self.context.wrap_model(model)
        optimizer = tf.train.AdamOptimizer(0.05)
        model.compile(optimizer=optimizer, loss="binary_crossentropy", metrics=["accuracy"])
        return model

    def session_config(self):
        return tf.ConfigProto(allow_soft_placement=True)

    def build_training_data_loader(self):
        return Sentences(1, self.context.get_per_slot_batch_size())

    def build_validation_data_loader(self):
        return Sentences(2, self.context.get_per_slot_batch_size())

    def keras_callbacks(self):
        return [TFKerasTensorBoard(update_freq="batch", profile_batch=0, histogram_freq=0, write_grads=True)]
