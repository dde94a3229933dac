"""Several processes of one trial with the Core API."""

from __future__ import annotations

import json
import math
import multiprocessing
import pathlib
import queue
import socket
import subprocess
import sys
import textwrap
import threading
from typing import Any, ClassVar

import pytest

from determined import core
from determined.core import _shards

MODES = list(core.DownloadMode)
PYTHON = pathlib.Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ranks(size: int, work: Any, *arguments: Any, local_size: int | None = None) -> list[Any]:
    """What ``work(context, …)`` returns on each rank, in processes of their own."""
    fork = multiprocessing.get_context("fork")
    port, queue = free_port(), fork.Queue()
    local_size = local_size or size

    def run(rank: int) -> None:
        context = core.DistributedContext(
            rank=rank, size=size, local_rank=rank % local_size, local_size=local_size,
            cross_rank=rank // local_size, cross_size=size // local_size, port=port,
        )  # fmt: skip
        try:
            queue.put((rank, work(context, *arguments)))
        except Exception as error:
            queue.put((rank, error))
        queue.close()
        queue.join_thread()

    processes = [fork.Process(target=run, args=(rank,)) for rank in range(size)]
    for process in processes:
        process.start()
    results = dict(queue.get(timeout=60) for _ in processes)
    for process in processes:
        process.join(timeout=60)
    return [results[rank] for rank in range(size)]


def test_every_exchange_gives_each_rank_its_documented_values() -> None:
    def work(context: core.DistributedContext) -> Any:
        return (
            context.allgather(context.rank * 10),
            context.gather(str(context.rank)),
            context.broadcast({"from": context.rank}),
            context.allgather_local(context.rank),
            context.gather_local(context.rank),
            context.broadcast_local(context.rank),
            (context.get_rank(), context.get_size(), context.get_local_rank(), context.get_num_agents()),
        )

    results = ranks(4, work, local_size=2)
    for rank, (everything, gathered, broadcast, local, gathered_local, first, names) in enumerate(results):
        machine = rank // 2
        assert everything == [0, 10, 20, 30]
        assert gathered == (["0", "1", "2", "3"] if rank == 0 else None)
        assert broadcast == {"from": 0}
        assert local == [2 * machine, 2 * machine + 1]
        assert gathered_local == (local if rank % 2 == 0 else None)
        assert first == 2 * machine
        assert names == (rank, 4, rank % 2, 2)


def test_a_stranger_does_not_disturb_the_meeting() -> None:
    port = free_port()
    fork = multiprocessing.get_context("fork")

    def worker() -> None:
        while True:
            with socket.socket() as stranger:
                if stranger.connect_ex(("127.0.0.1", port)) == 0:
                    stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    break
        context = core.DistributedContext(
            rank=1, size=2, local_rank=1, local_size=2, cross_rank=0, cross_size=1, port=port
        )
        assert context.broadcast(None) == "hello"

    process = fork.Process(target=worker)
    process.start()
    chief = core.DistributedContext(rank=0, size=2, local_rank=0, local_size=2, cross_rank=0, cross_size=1, port=port)
    chief.broadcast("hello")
    process.join(timeout=30)
    assert process.exitcode == 0
    chief.close()


def test_ranks_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="rank is 2; it must be from 0 to 1"):
        core.DistributedContext(rank=2, size=2, local_rank=0, local_size=2, cross_rank=0, cross_size=1)


def test_what_is_not_horovod_is_refused_with_a_way_out() -> None:
    with pytest.raises(ValueError, match="torchrun"):
        core.DistributedContext.from_horovod(None)


class Ranks:
    """What a process of Horovod asks its module, for one of two ranks."""

    def __init__(self, rank: int, machines: int = 1) -> None:
        self._rank, self._machines = rank, machines

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return 2

    def local_rank(self) -> int:
        return self._rank if self._machines == 1 else 0

    def local_size(self) -> int:
        return 2 // self._machines

    def cross_rank(self) -> int:
        return 0 if self._machines == 1 else self._rank

    def cross_size(self) -> int:
        return self._machines

    offers: ClassVar[queue.Queue[str]] = queue.Queue()

    def broadcast_object(self, value: str | None, root_rank: int) -> str:
        if value is None:
            return self.offers.get(timeout=30)
        self.offers.put(value)
        return value


def test_ranks_of_horovod_meet() -> None:
    made: dict[int, Any] = {}

    def join(rank: int) -> None:
        context = core.DistributedContext.from_horovod(Ranks(rank))
        made[rank] = context.allgather(rank)
        context.close()

    threads = [threading.Thread(target=join, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert made == {0: [0, 1], 1: [0, 1]}
    with pytest.raises(ValueError, match="chief_ip"):
        core.DistributedContext.from_horovod(Ranks(0, machines=2))


def test_several_workers_of_tensorflow_are_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}')
    with pytest.raises(NotImplementedError, match="2 workers"):
        core.DistributedContext.from_tf_config()


def test_shards_of_all_ranks_make_one_checkpoint(tmp_path: pathlib.Path) -> None:
    def work(distributed: core.DistributedContext) -> Any:
        with core.init(distributed=distributed, checkpoint_storage=tmp_path / "storage") as context:
            own = tmp_path / f"rank{distributed.rank}"
            own.mkdir()
            (own / f"shard-{distributed.rank}").write_text(str(distributed.rank))
            (own / "same").write_text("same")
            uuid = context.checkpoint.upload(own, {"steps_completed": 5}, shard=True)
            with context.checkpoint.store_path({"steps_completed": 6}, shard=True) as (path, second):
                (path / f"part-{distributed.rank}").write_text("x")
            with context.checkpoint.restore_path(uuid, selector=lambda name: name.startswith("shard")) as path:
                seen = sorted(file.name for file in path.iterdir())
            return uuid, second, seen

    results = ranks(3, work)
    assert len({(uuid, second) for uuid, second, _ in results}) == 1
    uuid, second, seen = results[0]
    assert seen == ["shard-0", "shard-1", "shard-2"]
    names = sorted(file.name for file in (tmp_path / "storage" / uuid).iterdir())
    assert names == ["metadata.json", "same", "shard-0", "shard-1", "shard-2"]
    assert (tmp_path / "storage" / second / "part-2").exists()
    assert {file.name for file in (tmp_path / "storage").iterdir()} == {uuid, second}


def test_shards_that_contradict_one_another_are_refused_on_every_rank(tmp_path: pathlib.Path) -> None:
    def work(distributed: core.DistributedContext) -> Any:
        with core.init(distributed=distributed, checkpoint_storage=tmp_path / "storage") as context:
            own = tmp_path / f"rank{distributed.rank}"
            own.mkdir()
            (own / "model").write_text("x" * (1 + distributed.rank))
            context.checkpoint.upload(own, {"steps_completed": 5}, shard=True)

    results = ranks(2, work)
    assert [str(error) for error in results] == [
        "the checkpoint was not saved: ranks 0 and 1 have different files model"
    ] * 2
    assert not list((tmp_path / "storage").iterdir())


def test_shards_of_one_name_and_one_size_are_refused_unless_their_content_is_equal(tmp_path: pathlib.Path) -> None:
    def work(distributed: core.DistributedContext) -> Any:
        context = core.init(distributed=distributed, checkpoint_storage=tmp_path / "storage")
        with context, context.checkpoint.store_path({"steps_completed": 5}, shard=True) as (path, _):
            (path / "equal").write_text("x")
            (path / "own").mkdir()
            (path / "own" / "optimizer").write_text(str(distributed.rank))

    results = ranks(3, work)
    assert [str(error) for error in results] == [
        "the checkpoint was not saved: ranks 0 and 1 have different files own/optimizer; "
        "ranks 0 and 2 have different files own/optimizer"
    ] * 3
    assert not list((tmp_path / "storage").iterdir())


def test_ranks_may_upload_one_directory_that_they_share(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_shards, "digests", None)  # the same file needs no reading
    (tmp_path / "shared").mkdir()
    for name in ("model", "metadata.json"):
        (tmp_path / "shared" / name).write_text("{}")

    def work(distributed: core.DistributedContext) -> Any:
        with core.init(distributed=distributed, checkpoint_storage=tmp_path / "storage") as context:
            uuid = context.checkpoint.upload(tmp_path / "shared", {"steps_completed": 5}, shard=True)
            return context.checkpoint.get_metadata(uuid)

    assert ranks(2, work) == [{"steps_completed": 5}] * 2


def test_ranks_that_share_a_download_have_what_any_of_them_selects(tmp_path: pathlib.Path) -> None:
    shards = ["shard0", "shard1", "shard2"]
    everything = ["metadata.json", *shards]

    def work(distributed: core.DistributedContext) -> Any:
        rank, seen = distributed.rank, []
        with core.init(distributed=distributed, checkpoint_storage=tmp_path / "storage") as context:
            with context.checkpoint.store_path({"steps_completed": 5}, shard=True) as (path, uuid):
                (path / f"shard{rank}").write_text("x")
            only = {"selector": lambda name: name == f"shard{rank}"}
            for number, options in enumerate([only, only if rank else {}, {**only, "download_mode": MODES[1]}]):
                with context.checkpoint.restore_path(uuid, **options) as path:
                    found = sorted(file.name for file in path.iterdir())
                    assert found == ([f"shard{rank}"] if "selector" in options else everything), "in place"
                target = tmp_path / f"{number}{rank if number == 2 else ''}"
                context.checkpoint.download(uuid, target, **options)
                seen.append(sorted(file.name for file in target.iterdir()))
            if rank == 1:
                with context.checkpoint.restore_path(uuid) as path:  # alone
                    assert (path / "shard2").is_file()
            with pytest.raises((ZeroDivisionError, RuntimeError), match="division by zero"):
                context.checkpoint.download(uuid, tmp_path / "no", selector=lambda name: bool(1 / (rank - 1)))
            with pytest.raises(FileNotFoundError, match="none is not in storage"):
                context.checkpoint.download("none", tmp_path / "no")
            return seen

    assert ranks(3, work) == [[shards, everything, [f"shard{rank}"]] for rank in range(3)]


def test_metadata_of_all_ranks_are_in_a_sharded_checkpoint(tmp_path: pathlib.Path) -> None:
    def work(distributed: core.DistributedContext) -> Any:
        with core.init(distributed=distributed, checkpoint_storage=tmp_path / "storage") as context:
            rank = distributed.rank
            own: dict[str, Any] = {"steps_completed": 5, "shards": {str(rank): [rank]}, f"only {rank}": math.nan}
            uuid = context.checkpoint.upload(None, own if rank < 2 else None, shard=True)
            with context.checkpoint.store_path({**own, "kind": "x"}, shard=True) as (_, second):
                pass
            return [context.checkpoint.get_metadata(each) for each in (uuid, second)]

    first, second = ranks(3, work)[0]
    assert first == {
        "steps_completed": 5, "shards": {"0": [0], "1": [1]}, "only 0": "NaN", "only 1": "NaN"
    }  # fmt: skip
    assert second == {**first, "shards": {"0": [0], "1": [1], "2": [2]}, "only 2": "NaN", "kind": "x"}


def test_metadata_that_contradict_one_another_are_refused_on_every_rank(tmp_path: pathlib.Path) -> None:
    def work(distributed: core.DistributedContext) -> Any:
        with core.init(distributed=distributed, checkpoint_storage=tmp_path / "storage") as context:
            rank = distributed.rank
            own = {"steps_completed": 5, "at": {"loss": 1} if rank == 0 else {"loss": rank + 1}}
            context.checkpoint.upload(None, own if rank != 1 else None, shard=True)

    assert [str(error) for error in ranks(3, work)] == [
        "the checkpoint was not saved: ranks 0 and 2 have different metadata at.loss: 1 and 3"
    ] * 3
    assert not list((tmp_path / "storage").iterdir())


def test_only_the_chief_reports_and_all_iterate_together(tmp_path: pathlib.Path) -> None:
    def work(distributed: core.DistributedContext) -> Any:
        with core.init(distributed=distributed, checkpoint_storage=tmp_path / "storage") as context:
            lengths = []
            for operation in context.searcher.operations():
                lengths.append(operation.length)
                assert not context.preempt.should_preempt()
                if distributed.rank == 0:
                    operation.report_completed(1.0)
                else:
                    with pytest.raises(RuntimeError, match="only the chief"):
                        operation.report_completed(1.0)
                    with pytest.raises(RuntimeError, match="only the chief"):
                        context.train.report_training_metrics(1, {})
                    with pytest.raises(RuntimeError, match="shard=True"):
                        context.checkpoint.upload(tmp_path, {"steps_completed": 1})
            return lengths

    assert ranks(2, work) == [[1], [1]]


def test_processes_of_torchrun_find_one_another(tmp_path: pathlib.Path) -> None:
    (tmp_path / "script.py").write_text(
        textwrap.dedent(
            """
            import json, os, pathlib
            from determined import core
            context = core.DistributedContext.from_torch_distributed()
            answer = [context.allgather(context.rank), context.cross_size, context.local_size]
            pathlib.Path(f"rank{context.rank}.json").write_text(json.dumps(answer))
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "script.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={"PYTHONPATH": str(PYTHON), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    for rank in (0, 1):
        assert json.loads((tmp_path / f"rank{rank}.json").read_text()) == [[0, 1], 1, 2]
