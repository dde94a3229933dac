"""Trials of several slots: equal weights on all ranks, and whatever is killed or paused changes nothing."""

import json
import re
import time

import pytest
from cluster import kill_process
from images import few_images
from several_slots import HERE, RANKS, Held, WithSlots

TUTORIAL = HERE.parents[1] / "examples" / "mnist_pytorch"


@pytest.fixture
def with_slots(tmp_path):
    clusters = []

    def starter(slots, agents=1):
        clusters.append(WithSlots(tmp_path / f"slots{len(clusters)}", slots, agents))
        return clusters[-1].start()

    yield starter
    for cluster in clusters:
        cluster.end()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a run leaves behind that nothing disturbed, by number of ranks."""
    directory = tmp_path_factory.mktemp("undisturbed")
    cluster = WithSlots(directory / "cluster", slots=3)
    try:
        cluster.start()
        held = {size: Held(cluster, directory / f"signals-{size}", size, "nowhere") for size in (1, 2)}
        return {size: one.outcome() for size, one in held.items()}
    finally:
        cluster.end()


def test_the_ranks_of_two_agents_train_one_model(with_slots, undisturbed, tmp_path):
    cluster = with_slots(1, agents=2)
    one = Held(cluster, tmp_path / "signals", 2, "nowhere")
    assert one.outcome() == undisturbed[2]
    lines = cluster.log_lines(cluster.trial_of(one.id)["id"])
    assert {line["agentId"] for line in lines if line.get("rankId") is not None} >= {"agent-0"}


ASK = """
        import json, os, urllib.request
        path = "allocations/{DET_ALLOCATION_ID}/resources/{DET_RESOURCES_ID}/rendezvous".format(**os.environ)
        request = urllib.request.Request(os.environ["DET_MASTER"] + "/api/v1/" + path)
        request.add_header("Authorization", "Bearer " + os.environ["DET_SESSION_TOKEN"])
        with urllib.request.urlopen(request) as answer:
            print("told", json.dumps(json.load(answer)["rendezvousInfo"], sort_keys=True))
"""


def test_each_machine_of_an_allocation_is_told_all_of_them(with_slots, tmp_path):
    definition = tmp_path / "definition"
    definition.mkdir()
    (definition / "const.yaml").write_text((RANKS / "const.yaml").read_text())
    text = (RANKS / "model_def.py").read_text()
    mark = "        self.context = context\n"
    (definition / "model_def.py").write_text(text.replace(mark, mark + ASK.strip("\n") + "\n", 1))
    cluster = with_slots(1, agents=2)
    id = cluster.create(definition)
    cluster.wait_for_state(id, "COMPLETED")
    told = [line["log"] for line in cluster.log_lines(cluster.trial_of(id)["id"]) if line["log"].startswith("told")]
    answers = sorted((json.loads(line.removeprefix("told ")) for line in told), key=lambda a: a["rank"])
    assert [a["rank"] for a in answers] == [0, 1]
    assert all(len(a["addresses"]) == 2 and a["slots"] == [1, 1] for a in answers)


def test_a_rank_lost_on_one_agent_ends_the_trial_on_both_and_it_runs_again(with_slots, undisturbed, tmp_path):
    cluster = with_slots(1, agents=2)
    one = Held(cluster, tmp_path / "signals", 2, "mid-epoch")
    one.wait()
    kill_process(cluster.shims_in(cluster.directory / "agent-1")[0]["taskPid"])
    one.go()
    assert one.outcome() == undisturbed[2]


def test_the_tutorial_trains_on_two_slots(start):
    cluster = start(options=["--slots", "2"])
    id = cluster.create(TUTORIAL, "--config", "searcher.max_steps=2", *few_images(), config="distributed.yaml")
    cluster.wait_for_state(id, "COMPLETED", seconds=180)
    trial = cluster.trial_of(id)["id"]
    assert [batches for batches, _ in cluster.metrics(trial, "training")] == [100, 200]
    assert cluster.metrics(trial, "validation")[-1][1]["validation_metrics"]["validation_error"] < 0.6
    shown = cluster.run("trial", "logs", trial)
    assert re.search(r"\[rank=0\] \|\| INFO: determined: finished after batch 200", shown)


def test_a_hang_ends_with_the_stacks_of_all_ranks_in_the_log(start, tmp_path):
    definition = tmp_path / "definition"
    definition.mkdir()
    text = (RANKS / "const.yaml").read_text().replace("max_restarts: 3", "max_restarts: 0")
    (definition / "const.yaml").write_text(text + "    - DET_COLLECTIVE_TIMEOUT=2\n")
    text = (RANKS / "model_def.py").read_text()
    mark = "        images, labels = batch\n"
    hang = "        if self.rank == 1 and batch_idx == 6:\n            time.sleep(600)  # for ever\n"
    (definition / "model_def.py").write_text(text.replace(mark, hang + mark, 1))
    cluster = start(options=["--slots", "2"])
    id = cluster.create(definition)
    began = time.monotonic()
    cluster.wait_for_state(id, "ERROR")
    assert time.monotonic() - began < 30
    shown = cluster.run("trial", "logs", cluster.trial_of(id)["id"]).splitlines()
    of_rank = {rank: "\n".join(line for line in shown if f"[rank={rank}]" in line) for rank in (0, 1)}
    assert re.search(r"rank 0 has waited \d+ s for the other ranks, in the exchange of buffers", of_rank[0])
    assert "this one is training the batches" in of_rank[1]
    assert re.search(r"model_def\.py.* in loss", of_rank[1]), "the line where it hangs"


def test_an_error_of_rank_1_is_what_the_user_sees(start, tmp_path):
    definition = tmp_path / "definition"
    definition.mkdir()
    (definition / "const.yaml").write_text(
        (RANKS / "const.yaml").read_text().replace("max_restarts: 3", "max_restarts: 0")
    )
    text = (RANKS / "model_def.py").read_text()
    (definition / "model_def.py").write_text(
        text.replace(
            "        images, labels = batch\n",
            '        if self.rank == 1 and batch_idx == 6:\n            raise ArithmeticError("so it goes")\n'
            "        images, labels = batch\n",
            1,
        )
    )
    cluster = start(options=["--slots", "2"])
    id = cluster.create(definition)
    cluster.wait_for_state(id, "ERROR")
    shown = cluster.run("trial", "logs", cluster.trial_of(id)["id"])
    of_ranks = [line for line in shown.splitlines() if "[rank=" in line and "determined:" not in line]
    assert "[rank=1]" in of_ranks[0] and of_ranks[0].endswith("rank 1 of 2 failed:")
    assert "ArithmeticError: so it goes" in shown
    chief = [line for line in of_ranks if "[rank=0]" in line]
    # The master may have ended it before it could say a word.
    assert [c.partition("|| INFO: ")[2] for c in chief] in (
        [],
        ["rank 0 ends because rank 1 failed: ArithmeticError: so it goes"],
    )
    assert "Traceback" not in "".join(chief)
