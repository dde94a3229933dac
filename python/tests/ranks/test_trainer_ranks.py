"""pytorch.Trainer on several slots: a script with a process for each."""

from __future__ import annotations

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
from typing import Any

import pytest
from small_master import SmallMaster
from test_exec import environment

pytest.importorskip("determined._runtime", reason="needs the C++ module", exc_type=ImportError)

SCRIPT = """
import json, os, pathlib, signal, sys
import torch
import determined as det
from determined import core, pytorch

class NoisyTrial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        torch.manual_seed(5)
        layers = torch.nn.Linear(2, 4), torch.nn.Dropout(), torch.nn.Linear(4, 1)
        self.model = context.wrap_model(torch.nn.Sequential(*layers))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9))
        torch.manual_seed(context.distributed.get_rank())

    def data(self):
        x = torch.randn(96, 2, generator=torch.Generator().manual_seed(1))
        return pytorch.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4, shuffle=True)

    build_training_data_loader = data
    build_validation_data_loader = data

    def train_batch(self, batch, epoch_idx, batch_idx):
        rank = self.context.distributed.get_rank()
        print("rank", rank, "batch", batch_idx, flush=True)
        if os.environ.get("DISTURB") == f"{rank} {batch_idx} kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if os.environ.get("DISTURB") == f"{rank} {batch_idx} raise":
            raise ArithmeticError("so it goes")
        loss = torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        return {"loss": torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])}

info = det.get_cluster_info()
given = core.DistributedContext.from_torch_distributed() if os.environ.get("GIVEN") else None
with pytorch.init(distributed=given) as context:
    trial = NoisyTrial(context)
    pytorch.Trainer(trial, context).fit(
        max_length=pytorch.Batch(30),
        reporting_period=pytorch.Batch(5),
        checkpoint_period=pytorch.Batch(7),
        latest_checkpoint=info.latest_checkpoint if info else os.environ.get("LATEST"),
    )
    weights = [t.tolist() for t in trial.model.state_dict().values()]
    print("weights", json.dumps(weights))
"""


class Script:
    """The script's processes, each started as torchrun would."""

    def __init__(self, place: pathlib.Path) -> None:
        self.place = place
        (place / "definition").mkdir()
        (place / "definition" / "train.py").write_text(SCRIPT)
        self.checkpoints = place / "determined" / "checkpoints"

    def run(self, size: int = 2, *, variables: dict[str, str] | None = None) -> list[tuple[int, str]]:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        processes = []
        for rank in range(size):
            own = {
                "RANK": rank,
                "WORLD_SIZE": size,
                "LOCAL_RANK": rank,
                "LOCAL_WORLD_SIZE": size,
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
                "XDG_DATA_HOME": self.place,
                "PYTHONPATH": pathlib.Path(__file__).parents[2],
                "OMP_NUM_THREADS": 1,
                "PATH": os.environ["PATH"],
                "DET_COLLECTIVE_TIMEOUT": 60,
                **(variables or {}),
            }
            processes.append(
                subprocess.Popen(
                    [sys.executable, "train.py"],
                    cwd=self.place / "definition",
                    env={name: str(value) for name, value in own.items()},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        outputs = [process.communicate(timeout=120)[0] for process in processes]
        return [(process.returncode, output) for process, output in zip(processes, outputs, strict=True)]

    def newest(self) -> str:
        found = {
            json.loads((p / "metadata.json").read_text())["steps_completed"]: p for p in self.checkpoints.iterdir()
        }
        return str(found[max(found)])


@pytest.fixture
def script(tmp_path: pathlib.Path) -> Script:
    return Script(tmp_path)


def weights(output: str) -> Any:
    found = re.search("^weights (.*)$", output, re.MULTILINE)
    assert found is not None, output
    return json.loads(found[1])


def test_two_processes_train_as_one_and_go_on_with_the_same_bits_after_a_kill(script: Script) -> None:
    whole = script.run()
    assert [code for code, _ in whole] == [0, 0], whole
    assert weights(whole[0][1]) == weights(whole[1][1])
    assert [output.count(" batch ") for _, output in whole] == [30, 30]
    steps = {json.loads((p / "metadata.json").read_text())["steps_completed"] for p in script.checkpoints.iterdir()}
    assert steps == {7, 14, 21, 28, 30}, "of the chief alone"

    for path in script.checkpoints.iterdir():
        path.rename(script.place / path.name)
    killed = script.run(variables={"DISTURB": "1 17 kill"})
    assert killed[1][0] == -9
    assert killed[0][0] == 81 and "rank 0 ends because it lost another rank" in killed[0][1], killed[0]
    assert "weights" not in killed[0][1]
    resumed = script.run(variables={"LATEST": script.newest()})
    assert [code for code, _ in resumed] == [0, 0], resumed
    assert "rank 1 batch 13" not in resumed[1][1] and "rank 1 batch 14" in resumed[1][1]
    assert weights(resumed[0][1]) == weights(whole[0][1])
    assert weights(resumed[1][1]) == weights(whole[0][1])


def test_the_rank_that_fails_says_why_and_the_others_end_because_of_it(script: Script) -> None:
    ended = script.run(variables={"DISTURB": "1 3 raise"})
    assert ended[1][0] == 1 and ended[1][1].count("ArithmeticError: so it goes") == 1, ended[1]
    assert ended[0][0] == 81 and "rank 0 ends because rank 1 failed: ArithmeticError: so it goes" in ended[0][1]
    assert "Traceback" not in ended[0][1]


def test_on_the_cluster_the_chief_alone_reports(script: Script, tmp_path: pathlib.Path) -> None:
    numbers = []
    for given in ("", "1"):
        master = SmallMaster([30])
        values = environment(master, tmp_path, DET_SIZE=2, DET_LOCAL_SIZE=2, config={"searcher": {"metric": "loss"}})
        wanted = {name: value for name, value in values.items() if name.startswith("DET_")}
        try:
            ended = script.run(variables={**wanted, "GIVEN": given})
            assert [code for code, _ in ended] == [0, 0], ended
        finally:
            master.close()
        assert master.trained() == 30
        assert len(master.checkpoints()) >= 4
        assert [call["rank"] for call in master.calls("/environment")] == [0]
        numbers.append(master.numbers())
    assert numbers[0] == numbers[1]


def test_slots_and_processes_have_to_be_as_many(script: Script, tmp_path: pathlib.Path) -> None:
    master = SmallMaster([30])
    try:
        values = environment(master, tmp_path, DET_SIZE=3, DET_LOCAL_SIZE=3)
        ((code, output),) = script.run(1, variables={k: v for k, v in values.items() if k.startswith("DET_")})
    finally:
        master.close()
    assert code == 1
    assert "the trial has 3 slots, and the script 1 process; start it with `torchrun --nproc-per-node 3`" in output
