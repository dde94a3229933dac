"""What is more than a number: images, histograms, tables, text and audio, as values of an event file."""

from __future__ import annotations

import io
import os
import pathlib
import struct
import wave
import zlib
from collections.abc import Sequence
from typing import Any

from determined import _arguments
from determined.tensorboard._events import double, field, varint

_ROWS_SHOWN = 1000
_BUCKETS = 64


class Media:
    """A value for :func:`determined.track.log` that is shown in TensorBoard."""

    def encoded(self) -> bytes:
        """The fields of a ``Summary.Value`` after its tag."""
        raise NotImplementedError


class Image(Media):
    """A picture: a PIL image, a Matplotlib figure, the path of a PNG file, or an array or tensor of the shape
    ``(height, width)``, ``(height, width, channels)`` or ``(channels, height, width)`` with 1, 3 or 4 channels. Floats
    are from 0 to 1, integers from 0 to 255.
    """

    def __init__(self, data: Any) -> None:
        self._png = _png_of(data)

    def encoded(self) -> bytes:
        width, height = struct.unpack(">II", self._png[16:24])
        colors = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}[self._png[25]]
        sizes = b"\x08" + varint(height) + b"\x10" + varint(width) + b"\x18" + varint(colors)
        return field(4, sizes + field(4, self._png))


class Histogram(Media):
    """How the values of an array, a tensor or a list are distributed, in 64 buckets. NaN and infinity are left out."""

    def __init__(self, values: Any) -> None:
        import numpy

        flat = numpy.asarray(_cpu(values), dtype=float).ravel()
        flat = flat[numpy.isfinite(flat)]
        if flat.size == 0:
            raise ValueError("a histogram has no finite value; it must have at least one")
        self._counts, self._edges = numpy.histogram(flat, bins=_BUCKETS)
        self._sums = (flat.min(), flat.max(), flat.size, flat.sum(), (flat * flat).sum())

    def encoded(self) -> bytes:
        limits = struct.pack(f"<{_BUCKETS}d", *self._edges[1:])
        counts = struct.pack(f"<{_BUCKETS}d", *self._counts)
        sums = b"".join(double(number, float(value)) for number, value in enumerate(self._sums, 1))
        return field(5, sums + field(6, limits) + field(7, counts))


class Text(Media):
    """Text, as Markdown."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"text is {text!r}; it must be a string")
        self.text = text

    def encoded(self) -> bytes:
        shape = field(2, b"\x08" + varint(1))
        tensor = b"\x08" + varint(7) + field(2, shape) + field(8, self.text.encode())
        return field(9, field(1, field(1, b"text"))) + field(8, tensor)


class Table(Media):
    """Rows under columns: ``Table(["word", "count"], [["a", 3], ["b", 1]])``, or a pandas DataFrame. TensorBoard shows
    the first 1,000 rows; all of them are kept as a JSON file beside the event files.
    """

    def __init__(self, columns: Any, rows: Sequence[Sequence[Any]] | None = None) -> None:
        if rows is None and hasattr(columns, "itertuples"):
            columns, rows = list(columns.columns), [list(row) for row in columns.itertuples(index=False)]
        self.columns = [str(column) for column in columns]
        self.rows = [list(row) for row in rows or ()]
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"rows[{number}] has {len(row)} values and there are {len(self.columns)} columns; every row must "
                    "have a value for each column"
                )

    def encoded(self) -> bytes:
        shown = [self.columns, ["---"] * len(self.columns), *self.rows[:_ROWS_SHOWN]]
        lines = ["| " + " | ".join(_cell(value) for value in row) + " |" for row in shown]
        if len(self.rows) > _ROWS_SHOWN:
            lines.append(f"\n{len(self.rows) - _ROWS_SHOWN} more rows")
        return Text("\n".join(lines)).encoded()


class Audio(Media):
    """Sound: the path of a WAV file, or an array of the shape ``(frames,)`` or ``(frames, channels)`` with values from
    -1 to 1.
    """

    def __init__(self, data: Any, sample_rate: int = 44100) -> None:
        if isinstance(data, (str, os.PathLike)):
            self._wav = pathlib.Path(data).read_bytes()
        else:
            self._wav = _wav_of(data, _arguments.whole(sample_rate, "sample_rate", "must be 1 or more", 1))
        try:
            with wave.open(io.BytesIO(self._wav)) as sound:
                self._facts = (sound.getframerate(), sound.getnchannels(), sound.getnframes())
        except (wave.Error, EOFError) as error:
            raise ValueError(f"{data} is no WAV file ({error}); pass one, or an array of samples") from None

    def encoded(self) -> bytes:
        rate, channels, frames = self._facts
        facts = struct.pack("<Bf", 13, rate) + b"\x10" + varint(channels) + b"\x18" + varint(frames)
        return field(6, facts + field(4, self._wav) + field(5, b"audio/wav"))


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _cpu(value: Any) -> Any:
    value = _arguments.detached(value)
    return value.cpu() if hasattr(value, "cpu") else value


def _png_of(data: Any) -> bytes:
    if isinstance(data, (str, os.PathLike)):
        png = pathlib.Path(data).read_bytes()
        if not png.startswith(b"\x89PNG\r\n\x1a\n"):
            raise ValueError(f"{data} is no PNG file; open it with PIL.Image.open() and pass that")
        return png
    if hasattr(data, "savefig") or hasattr(data, "getbands"):
        out = io.BytesIO()
        if hasattr(data, "savefig"):
            data.savefig(out, format="png")
        else:
            (data if data.mode in ("L", "RGB", "RGBA") else data.convert("RGB")).save(out, format="PNG")
        return out.getvalue()
    return _encode_png(data)


def _encode_png(data: Any) -> bytes:
    import numpy

    pixels = numpy.asarray(_cpu(data))
    rule = "must have the shape (height, width), (height, width, channels) or (channels, height, width)"
    if pixels.ndim == 3 and pixels.shape[0] in (1, 3, 4) and pixels.shape[2] not in (1, 3, 4):
        pixels = pixels.transpose(1, 2, 0)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4) or pixels.size == 0:
        raise ValueError(f"an image has the shape {tuple(numpy.shape(data))}; it {rule}, with 1, 3 or 4 channels")
    if pixels.dtype.kind == "f":
        pixels = numpy.nan_to_num(pixels) * 255 + 0.5
    elif pixels.dtype.kind == "b":
        pixels = pixels * 255
    pixels = numpy.clip(pixels, 0, 255).astype(numpy.uint8)
    height, width, channels = pixels.shape
    rows = numpy.zeros((height, 1 + width * channels), dtype=numpy.uint8)  # each begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    coded = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(coded)


def _wav_of(data: Any, sample_rate: int) -> bytes:
    import numpy

    samples = numpy.asarray(_cpu(data), dtype=float)
    if samples.ndim not in (1, 2) or samples.size == 0:
        raise ValueError(f"audio has the shape {samples.shape}; it must be (frames,) or (frames, channels)")
    whole = (numpy.clip(numpy.nan_to_num(samples), -1, 1) * 32767).astype("<i2")
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(1 if samples.ndim == 1 else samples.shape[1])
        sound.setsampwidth(2)
        sound.setframerate(sample_rate)
        sound.writeframes(whole.tobytes())
    return out.getvalue()
