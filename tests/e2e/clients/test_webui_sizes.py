"""The pages on a master that has nothing, and on one that has 10,000 experiments."""

import concurrent.futures

import pytest
from browser import walk
from cluster import Cluster

FIRST_STEPS = "det init spirals"

# What each page says where there is nothing yet: what it is for, and what to do.
EMPTY = {
    "": FIRST_STEPS,
    "experiments": FIRST_STEPS,
    "workspaces": "Uncategorized",
    "workspaces/1": "0 experiments",
    "workspaces/1/members": "Assign a role to add a member.",
    "workspaces/1/policies": "No policy is set in workspace Uncategorized.",
    "projects/1": FIRST_STEPS,
    "projects/1/notes": "Create your own project to add notes.",
    "cluster": "To add one, run this on a machine with slots",
    "cluster/usage": "No slots were used in this period.",
    "cluster/policies": "No policy is set in the cluster.",
    "cluster/logs": "No log lines yet.",
    "queue": "are listed here from their submission to their end",
    "tasks": "Start a notebook or shell here",
    "models": "Create a model to version checkpoints worth keeping.",
    "templates": "No templates yet.",
    "webhooks": "No webhooks yet.",
    "audit": "/api/v1/auth/login",
    "users": "determined",
    "users/groups": "No groups yet.",
    "users/tokens": "No access tokens. Create one in Settings.",
    "settings": "Create one for scripts and programs that use the API.",
    "compare": "Add trials by ID",
}

EXPERIMENTS = 10_000
LABELS = 13


def places(texts):
    return [{"path": f"/det/{path}", "text": text} for path, text in texts.items()]


@pytest.fixture
def master(tmp_path):
    """A master without agents."""
    it = Cluster(tmp_path / "master", apart=True)
    it.start_master()
    yield it
    it.end()


def test_every_page_of_an_empty_master_says_what_to_do(master, tmp_path):
    walk(master, {"pages": places(EMPTY)}, tmp_path, DET_PARTS="sizes")


def test_the_pages_work_with_ten_thousand_experiments(master, tmp_path):
    def submit(number):
        config = (
            f"name: model {number % 97}\ndescription: number {number} of many\nlabels: [group{number % LABELS}]\n"
            "hyperparameters: {global_batch_size: 8}\nentrypoint: model_def:Trial\n"
            "searcher: {name: single, metric: loss, max_length: {batches: 100}}\n"
        )
        master.get("experiments", "POST", {"config": config, "activate": False})

    submit(1)  # which also logs in
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(submit, range(2, EXPERIMENTS + 1)))
    listed = master.get("experiments?labels=group5&limit=1&sortBy=SORT_BY_ID&orderBy=ORDER_BY_DESC&archived=false")
    group = {
        "label": "group5",
        "count": listed["pagination"]["total"],
        "newest": listed["experiments"][0]["id"],
    }
    pages = {
        "": "You have no experiments yet",
        "experiments?search=%2310000": "1 experiment",
        "experiments?filter=label+%3D+group3+and+name+~+%22model+5%22": "experiments",
        "workspaces": "10,000",
        "workspaces/1": "10,000 experiments",
        "projects/1": "10,000 experiments",
        "queue": "0 jobs",
        "experiments/5000": "model",
        "audit": "/api/v1/experiments",
    }
    facts = {"pages": places(pages), "total": EXPERIMENTS, "group": group}
    walk(master, facts, tmp_path, DET_PARTS="sizes,many")
