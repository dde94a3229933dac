"""What is written for TensorBoard, and where it is kept."""

from __future__ import annotations

import json
import math
import pathlib
import struct
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from small_master import SmallMaster
from test_exec import environment, run_cold

from determined import _metrics, core
from determined.tensorboard import _board, _events

pytest.importorskip("determined._runtime", reason="needs the C++ module", exc_type=ImportError)


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        if key & 7 == 2:
            size, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}[key & 7]
        yield key >> 3, data[at : at + size]
        at += size


def points(directory: pathlib.Path) -> dict[tuple[str, int], float]:
    """All scalars of the event files, read as the format's description says."""
    found = {}
    for path in sorted(directory.glob("events.out.tfevents.*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            head = data[at : at + 8]
            (size,) = struct.unpack("<Q", head)
            event = data[at + 12 : at + 12 + size]
            checks = struct.unpack("<I", data[at + 8 : at + 12]) + struct.unpack(
                "<I", data[at + 12 + size : at + 16 + size]
            )
            assert checks == (_events.masked_crc(head), _events.masked_crc(event))
            at += 16 + size
            told = dict(fields(event))
            for _, value in fields(told.get(5, b"")):
                scalar = dict(fields(value))
                found[scalar[1].decode(), told.get(2, 0)] = struct.unpack("<f", scalar[2])[0]
    return found


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setattr(_board, "_base", None)
    monkeypatch.setattr(_board, "_flushes", [])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_a_metric_that_no_float_holds_is_infinite_on_the_board(tmp_path: pathlib.Path) -> None:
    file = _events.EventFile(tmp_path)
    file.scalars(1, {"large": 1e300, "small": -1e300, "fits": 1e30})
    file.close()
    found = points(tmp_path)
    assert (found["large", 1], found["small", 1]) == (math.inf, -math.inf)
    assert found["fits", 1] == pytest.approx(1e30)


def test_the_checksum_is_castagnolis() -> None:
    crc = 0xE3069283  # of "123456789", as RFC 3720 and others give it
    assert _events.masked_crc(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_metrics_become_curves_that_are_kept_with_the_checkpoints(tmp_path: pathlib.Path) -> None:
    board = _board.Board(tmp_path / "storage", "c", 7, 12)
    board.training(100, {"loss": 0.5, "text": "x", "none": None, "list": [1, 2]})
    assert board.target == tmp_path / "storage" / "c" / "tensorboard" / "experiment" / "7" / "trial" / "12"
    assert points(board.target) == {("Determined/loss", 100): 0.5}
    board.validation(2**40, {"loss": 0.25, "val_error": float("inf")})
    (tmp_path / "extra").mkdir()
    (_board.get_base_path() / "own").mkdir()
    (_board.get_base_path() / "own" / "file").write_text("mine")
    board.close()
    assert points(board.target) == {
        ("Determined/loss", 100): 0.5,
        ("Determined/val_loss", 2**40): 0.25,
        ("Determined/val_error", 2**40): float("inf"),
    }
    assert (board.target / "own" / "file").read_text() == "mine"
    assert not list(tmp_path.glob("tensorboard-*")), "nothing of it stays on the machine"


@pytest.mark.filterwarnings("error")
def test_a_tensor_with_a_gradient_is_reported_without_a_warning(tmp_path: pathlib.Path) -> None:
    loss = torch.ones((), requires_grad=True) * 2
    board = _board.Board(tmp_path / "storage", "c", 7, 12)
    board.training(1, {"loss": loss})
    assert points(board.target or tmp_path) == {("Determined/loss", 1): 2.0}
    board.close()
    assert _metrics.searcher_value("loss", {"loss": loss}) == 2.0
    assert json.loads(_metrics.to_json({"loss": loss})) == {"loss": 2.0}


def test_a_storage_that_fails_is_told_once_and_ends_nothing(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "storage").write_text("a file")
    board = _board.Board(tmp_path / "storage", "c", 7, 12)
    board.training(1, {"loss": 1.0})
    board.training(2, {"loss": 1.0})
    assert len([r for r in caplog.records if "TensorBoard's files can't be stored" in r.message]) == 1


def test_a_file_that_became_smaller_is_copied_anew(tmp_path: pathlib.Path) -> None:
    board = _board.Board(tmp_path / "storage", "c", 7, 12)
    own = _board.get_base_path() / "own"
    for text in ("long text", "short", "short and longer"):
        own.write_text(text)
        board.copy()
        assert board.target is not None and (board.target / "own").read_text() == text


@pytest.mark.parametrize("wanted", [True, False])
def test_a_trial_on_the_cluster_writes_its_curves_if_it_wants_them(tmp_path: pathlib.Path, wanted: bool) -> None:
    (tmp_path / "definition").mkdir()
    (tmp_path / "definition" / "model_def.py").write_text(
        "from trials import EverythingTrial\n"
        "class MyTrial(EverythingTrial):\n"
        "    def __init__(self, context):\n"
        "        super().__init__(context)\n"
        f"        context.set_enable_tensorboard_logging({wanted})\n"
        "        (context.get_tensorboard_path() / 'mine').write_text('own')\n"
    )
    master = SmallMaster([9, 16])
    try:
        done = run_cold(environment(master, tmp_path))
    finally:
        master.close()
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "storage" / "c" / "tensorboard" / "experiment" / "1" / "trial" / "1"
    if not wanted:
        assert not kept.exists()
        return
    found = points(kept)
    told = {("Determined/val_loss", m["stepsCompleted"]) for m in master.metrics("validation")}
    assert told <= found.keys()
    for report in master.metrics("training"):
        step, averages = report["stepsCompleted"], report["metrics"]["avgMetrics"]
        assert found["Determined/loss", step] == pytest.approx(averages["loss"], rel=1e-6)
    assert (kept / "mine").read_text() == "own"


def test_a_script_keeps_its_files_by_itself_or_by_hand(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "definition").mkdir()
    master = SmallMaster([9])
    for name, value in environment(master, tmp_path).items():
        if name.startswith("DET_"):
            monkeypatch.setenv(name, value)
    kept = tmp_path / "storage" / "c" / "tensorboard" / "experiment" / "1" / "trial" / "1"
    try:
        with core.init() as context:
            context.train.report_training_metrics(3, {"loss": 0.5})
            assert points(kept) == {("Determined/loss", 3): 0.5}
            with pytest.raises(RuntimeError, match="MANUAL"):
                context.train.upload_tensorboard_files()
            (context.train.get_tensorboard_path() / "late").write_text("x")
        assert (kept / "late").is_file()
        with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
            context.train.report_training_metrics(4, {"loss": 0.5})
            for name in ("a.txt", "b.txt"):
                (context.train.get_tensorboard_path() / name).write_text("x")
            context.train.upload_tensorboard_files(
                lambda path: path.name == "a.txt", lambda path, rank: path.with_name(f"rank-{rank}-{path.name}")
            )
        assert sorted(p.name for p in kept.iterdir() if not p.name.startswith("events")) == ["late", "rank-0-a.txt"]
        assert ("Determined/loss", 4) not in points(kept)
    finally:
        master.close()


def test_without_its_package_torch_writer_writes_scalars_and_says_what_it_leaves_out(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from determined.tensorboard.metric_writers.pytorch import TorchWriter

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    monkeypatch.setattr(_board, "_base", tmp_path)
    writer = TorchWriter()
    writer.add_scalar("mine", 1.5, 5)
    writer.writer.add_scalars("both", {"a": 2, "b": 3.0}, global_step=6)
    for _ in range(2):
        writer.writer.add_image("picture", object(), 5)
    writer.reset()
    assert points(tmp_path) == {("mine", 5): 1.5, ("both/a", 6): 2.0, ("both/b", 6): 3.0}
    assert [r.getMessage().split(" is ignored")[0] for r in caplog.records] == ["TorchWriter: add_image()"]
    with pytest.raises(AttributeError, match="needs the package tensorboard"):
        _ = writer.writer.log_dir


def test_what_torch_writer_buffers_is_written_before_each_copy(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import types

    class SummaryWriter:  # the package is an option; this one has its promises
        def __init__(self, log_dir: str) -> None:
            self.file, self.waiting = pathlib.Path(log_dir) / "events.out.tfevents.own", b""

        def add_scalar(self, name: str, value: float, step: int) -> None:
            self.waiting += f"{name} {value} {step}\n".encode()

        def flush(self) -> None:
            self.file.write_bytes(self.waiting)

    monkeypatch.setitem(
        sys.modules,
        "torch.utils.tensorboard",
        types.SimpleNamespace(SummaryWriter=SummaryWriter),  # type: ignore[arg-type]
    )
    from determined.tensorboard.metric_writers.pytorch import TorchWriter

    board = _board.Board(tmp_path / "storage", "c", 7, 12)
    writer = TorchWriter()
    writer.add_scalar("mine", 1.0, 5)
    board.copy()
    assert board.target is not None
    assert (board.target / "events.out.tfevents.own").read_text() == "mine 1.0 5\n"
