"""Records with numbers and words."""

import numpy as np

TOWNS = ["Ulm", "Bonn", "Kiel"]


def people(count, seed):
    random = np.random.RandomState(seed)
    features = {
        "age": random.randint(18, 70, count).astype(np.float32),
        "hours": random.rand(count).astype(np.float32) * 40,
        "town": np.array(TOWNS)[random.randint(0, 3, count)],
        "street": np.array([f"street {n}" for n in random.randint(0, 9, count)]),
    }
    return features, (features["age"] > 40).astype(np.int64)


def stripes(count, seed):
    random = np.random.RandomState(seed)
    labels = random.randint(0, 2, count)
    images = random.rand(count, 8, 8, 1).astype(np.float32)
    images[labels == 0, ::2, :, :] += 0.5
    return images, labels.astype(np.int64)
