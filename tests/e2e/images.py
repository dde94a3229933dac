"""A tenth of Fashion-MNIST, for tests that ask for more than how well a model has learned."""

import atexit
import functools
import gzip
import pathlib
import shutil
import struct
import tempfile

WHOLE = pathlib.Path("/usr/share/datasets/fashion-mnist")
KEPT = {"train": 6_000, "t10k": 1_000}


def few_images(setting: str = "data.directory") -> list[str]:
    """The options of `det experiment create` that have an example read the first of the images only."""
    return ["--config", f"{setting}={_few()}"]


@functools.cache
def _few() -> pathlib.Path:
    place = pathlib.Path(tempfile.mkdtemp(prefix="fashion-"))
    atexit.register(shutil.rmtree, place)
    for part, kept in KEPT.items():
        for file, header, size in (("images-idx3", ">4I", 28 * 28), ("labels-idx1", ">2I", 1)):
            name = f"{part}-{file}-ubyte.gz"
            with gzip.open(WHOLE / name) as whole:
                magic, _, *shape = struct.unpack(header, whole.read(struct.calcsize(header)))
                records = whole.read(kept * size)
            text = struct.pack(header, magic, kept, *shape) + records
            (place / name).write_bytes(gzip.compress(text, compresslevel=1))
    return place
