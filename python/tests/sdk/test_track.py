"""determined.track without a master; with one: tests/e2e/clients/test_track.py."""

from __future__ import annotations

import json
import os
import pathlib
import struct
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

import determined.track as track
from determined.track.__main__ import main
from determined.track._imports import _log_records
from determined.track._journal import Journal
from determined.track._media import _encode_png


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    yield tmp_path / "run"
    track.finish()


def records(directory: pathlib.Path) -> list[dict[str, object]]:
    return [record for record, _ in Journal(directory).records(0)]


def test_what_is_logged_is_in_the_directory_when_the_call_returns(directory: pathlib.Path) -> None:
    track.init(mode="offline", directory=directory, config={"lr": np.float32(0.5)})
    track.log({"loss": np.float64(1.5), "nan": float("nan")})
    track.log({"loss": 1.0})
    found = records(directory)
    assert [(one["step"], one["metrics"]) for one in found] == [(1, {"loss": 1.5, "nan": "NaN"}), (2, {"loss": 1.0})]
    assert json.loads((directory / "run.json").read_text())["config"] == {"lr": 0.5}


def test_a_line_that_is_half_written_is_not_there_yet(directory: pathlib.Path) -> None:
    track.init(mode="offline", directory=directory)
    track.log({"loss": 1.0})
    with open(directory / "journal.jsonl", "a") as out:
        out.write('{"kind": "metr')
    assert len(records(directory)) == 1


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"mode": "later"}, "mode is 'later'; it must be 'online' or 'offline'"),
        ({"project": " "}, "project is ' '; it must be a name"),
        ({"tags": "one"}, "tags is 'one'; it must be a list of strings"),
        ({"resume": ""}, "resume is ''; it must be the id of a run"),
    ],
)
def test_init_says_what_is_wrong(arguments: dict[str, str], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        track.init(**({"mode": "offline"} | arguments))  # type: ignore[arg-type]


def test_log_says_what_is_wrong(directory: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match=r"call track.init\(\) first"):
        track.log({"loss": 1.0})
    run = track.init(mode="offline", directory=directory)
    with pytest.raises(TypeError, match="values is a list"):
        track.log([1.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="step is -1"):
        track.log({"loss": 1.0}, step=-1)
    with pytest.raises(ValueError, match=r"group is 'a.b'"):
        track.log({"loss": 1.0}, group="a.b")
    with pytest.raises(TypeError, match=r"values\['x'\]"):
        track.log({"x": object()})
    with pytest.raises(FileNotFoundError, match="missing does not exist"):
        track.log_artifact("missing")
    with pytest.raises(FileExistsError, match="has a run already"):
        track.init(mode="offline", directory=directory)
    with pytest.raises(RuntimeError, match="has ended"):
        run.log({"loss": 1.0})
    with pytest.raises(FileNotFoundError, match=r"has no run.json"):
        track.sync(directory / "events")


def test_a_resumed_run_needs_a_step_while_the_master_is_away(directory: pathlib.Path) -> None:
    track.init(mode="offline", directory=directory, resume="mine")
    with pytest.raises(ValueError, match="pass step"):
        track.log({"loss": 1.0})
    track.log({"loss": 1.0}, step=7)
    track.log({"loss": 1.0})
    assert [one["step"] for one in records(directory)] == [7, 8]


def test_an_exception_in_the_block_ends_the_run_as_failed(directory: pathlib.Path) -> None:
    with pytest.raises(KeyError), track.init(mode="offline", directory=directory):
        raise KeyError("lost")
    assert [one["error"] for one in records(directory)] == ["KeyError: 'lost'"]


@pytest.mark.parametrize("shape", [(2, 5), (2, 5, 1), (2, 5, 3), (2, 5, 4), (3, 2, 5)])
def test_an_array_becomes_a_picture(shape: tuple[int, ...]) -> None:
    png = _encode_png(np.ones(shape))
    assert struct.unpack(">II", png[16:24]) == (5, 2)
    start = png.index(b"IDAT")
    (size,) = struct.unpack(">I", png[start - 4 : start])
    rows = zlib.decompress(png[start + 4 : start + 4 + size])
    assert set(rows) == {0, 255}


def test_media_say_what_is_wrong(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=r"shape \(7,\)"):
        track.Image(np.zeros(7))
    with pytest.raises(ValueError, match="no finite value"):
        track.Histogram([float("nan")])
    with pytest.raises(ValueError, match=r"rows\[1\] has 1 values and there are 2 columns"):
        track.Table(["a", "b"], [[1, 2], [3]])
    (tmp_path / "x.wav").write_bytes(b"no sound")
    with pytest.raises(ValueError, match="is no WAV file"):
        track.Audio(tmp_path / "x.wav")
    with pytest.raises(TypeError, match="text is 5"):
        track.Text(5)  # type: ignore[arg-type]


def test_a_forked_process_writes_to_the_same_journal(directory: pathlib.Path) -> None:
    track.init(mode="offline", directory=directory)
    track.log({"loss": 0.0}, step=1)
    child = os.fork()
    if child == 0:
        track.log({"loss": 1.0}, step=2)
        track.finish()  # which ends nothing
        os._exit(0)
    os.waitpid(child, 0)
    track.log({"loss": 2.0}, step=3)
    assert [one.get("step") for one in records(directory)] == [1, 2, 3]


def wandb_log(*records: bytes) -> bytes:
    """A log with each record whole, or in parts where a block of 32 KiB ends."""
    data = b":W&B\xe1\xbe\x00"
    for record in records:
        first = True
        while True:
            left = 32768 - len(data) % 32768
            if left < 7:
                data += bytes(left)
                left = 32768
            part, record = record[: left - 7], record[left - 7 :]
            kind = (1 if not record else 2) if first else (4 if not record else 3)
            data += struct.pack("<IHB", 0, len(part), kind) + part
            first = False
            if not record:
                break
    return data


def test_records_of_a_log_are_read_across_blocks_and_up_to_where_it_is_cut_off() -> None:
    records = [b"a" * 100, b"b" * 70_000, b"c" * 32_750, b"d"]
    data = wandb_log(*records)
    assert list(_log_records(data)) == records
    assert list(_log_records(data[:-3])) == records[:-1]
    with pytest.raises(ValueError, match="is no log of W&B"):
        list(_log_records(b"something else"))


def test_an_import_says_what_is_wrong(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "mlflow", str(tmp_path / "missing")]) == 1
    assert "is no directory; pass the one in which the runs are" in capsys.readouterr().err
    assert main(["import", "mlflow", str(tmp_path)]) == 1
    assert "has no run of mlflow" in capsys.readouterr().err
