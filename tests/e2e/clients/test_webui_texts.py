"""Texts that look like code, in every place where people may write: the pages show them, and run nothing."""

import json

import yaml
from browser import walk
from cluster import wait_until

# Each in its place means something: to HTML, an attribute, a link, a template, a terminal, or the direction of writing.
CORPUS = [
    "<script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=2" data-corpus>',
    "<svg/onload=window.hacked=3 data-corpus>",
    "javascript:window.hacked=4",
    "[link](javascript:window.hacked=5) ![x](x)",
    "{{constructor.constructor('window.hacked=6')()}}",
    "</textarea></title><iframe srcdoc='<b data-corpus>'>",
    "&lt;b&gt; \u202etxet\u202c 'single' \"double\" `back` \\",
]
ALL = " ".join(CORPUS)

SCRIPT = """import json, determined as det
texts = json.load(open("texts.json"))
for text in texts:
    print(text, flush=True)
    print("\\033[31m" + text + "\\033[0m", flush=True)
with det.core.init() as context:
    context.train.report_validation_metrics(1, {"loss": 1.0, **{text: 0.5 for text in texts}})
    for operation in context.searcher.operations():
        operation.report_completed(1.0)
"""


def definition(directory):
    """An experiment in whose configuration each text that anybody may choose looks like code."""
    directory.mkdir()
    (directory / "train.py").write_text(SCRIPT)
    (directory / "texts.json").write_text(json.dumps(CORPUS))
    (directory / "<img src=x onerror=window.hacked=7>.txt").write_text(ALL)
    searcher = {"name": "single", "metric": "loss", "max_length": 1}
    config = {
        "name": ALL,
        "description": CORPUS[1],
        "labels": [text for text in CORPUS if "," not in text],
        "hyperparameters": {"<b data-corpus>": CORPUS[0], "value": CORPUS[2]},
        "data": {CORPUS[4]: CORPUS[5]},
        "entrypoint": "python3 train.py",
        "searcher": searcher,
        "max_restarts": 0,
    }
    (directory / "const.yaml").write_text(yaml.safe_dump(config))
    return directory


def test_texts_that_look_like_code_are_shown_as_they_are(start, tmp_path):
    cluster = start(options=("--slots", "1"))
    cluster.token = cluster.get("auth/login", "POST", {"username": "admin", "password": ""})["token"]
    experiment = cluster.create(definition(tmp_path / "model"))
    trial = cluster.trial_of(experiment)["id"]
    cluster.wait_for_state(experiment, "COMPLETED")
    cluster.get(f"experiments/{experiment}", "PATCH", {"notes": ALL})
    workspace = cluster.get("workspaces", "POST", {"name": CORPUS[1][:80]})["workspace"]
    project = cluster.get(f"workspaces/{workspace['id']}/projects", "POST", {"name": CORPUS[2], "description": ALL})[
        "project"
    ]
    cluster.get(f"projects/{project['id']}/notes", "PUT", {"notes": [{"name": CORPUS[0], "contents": ALL}]})
    cluster.get("models", "POST", {"name": "model", "description": ALL, "labels": [CORPUS[1]], "notes": ALL})
    checkpoint = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
    assert not checkpoint, "the script saves none"
    user = cluster.get("users", "POST", {"user": {"username": "eve", "active": True, "displayName": CORPUS[1]}})["user"]
    cluster.get("groups", "POST", {"name": CORPUS[2], "addUsers": [user["id"]]})
    cluster.run("-u", "admin", "command", "run", "--detach", "--config", f"description={CORPUS[2]}", "sleep", "60")
    wait_until(lambda: CORPUS[-1] in cluster.log_text(experiment), "the last line of the log")

    def place(path, text):
        return {"path": f"/det/{path}", "text": text}

    pages = [
        place("dashboard", CORPUS[0]),
        place("experiments", CORPUS[0]),
        place(f"experiments?filter={'name contains hacked'}&columns=id,hp.value,labels", CORPUS[2]),
        place(f"experiments/{experiment}", CORPUS[1]),
        place(f"experiments/{experiment}/configuration", CORPUS[5]),
        place(f"experiments/{experiment}/code", "<img src=x onerror=window.hacked=7>.txt"),
        place(f"experiments/{experiment}/notes", CORPUS[0]),
        place(f"experiments/{experiment}/logs", CORPUS[0]),
        place(f"trials/{trial}", CORPUS[4]),
        place(f"trials/{trial}/hyperparameters", CORPUS[0]),
        place(f"trials/{trial}/workloads", CORPUS[2]),
        place(f"trials/{trial}/runs", "Run 1 started"),
        place(f"trials/{trial}/logs", CORPUS[6]),
        place("workspaces", CORPUS[1][:80]),
        place(f"workspaces/{workspace['id']}", CORPUS[2]),
        place(f"projects/{project['id']}", CORPUS[2]),
        place(f"projects/{project['id']}/notes", CORPUS[0]),
        place("models", CORPUS[1]),
        place("models/model", CORPUS[1]),
        place("tasks", CORPUS[2]),
        place("users", CORPUS[1]),
        place("users/groups", CORPUS[2]),
    ]
    walk(cluster, {"pages": pages}, tmp_path, DET_PARTS="corpus")
