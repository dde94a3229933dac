"""What administrators fix and limit in configurations, on the real program."""

import json

CLUSTER = """# Nobody goes before everybody else.
constraints:
  priority_limit: 30
"""
TEAM = """invariant_config:
  max_restarts: 3
  environment:
    environment_variables: [TEAM=vision]
constraints:
  resources:
    max_slots: 1
"""
TASKS = "invariant_config: {environment: {environment_variables: [TEAM=vision]}}\n"


def test_policies_hold_for_what_is_submitted_and_for_what_becomes_of_it(start, noisy, tmp_path):
    cluster = start(options=["--slots", "1"])
    for name, text in (("cluster.yaml", CLUSTER), ("team.yaml", TEAM), ("tasks.yaml", TASKS)):
        (tmp_path / name).write_text(text)

    def admin(*words, **how):
        return cluster.run("-u", "admin", *words, **how)

    admin("workspace", "create", "vision")
    admin("project", "create", "vision", "faces")
    assert "No policy for experiments of the cluster is set" in cluster.run("config-policies", "describe", "experiment")
    refused = cluster.run("config-policies", "set", "experiment", tmp_path / "cluster.yaml", code=1)
    assert "cannot change the configuration policies of the cluster" in refused, refused
    admin("config-policies", "set", "experiment", tmp_path / "cluster.yaml")
    admin("cp", "set", "experiment", tmp_path / "team.yaml", "-w", "vision")
    admin("cp", "set", "tasks", tmp_path / "tasks.yaml", "-w", "vision")
    cluster.master.kill()
    cluster.start_master()
    assert "priority_limit: 30" in cluster.run("cp", "describe", "experiment")

    def create(*options, **how):
        place = ("--config", "workspace=vision", "--config", "project=faces")
        words = [word for option in options for word in ("--config", option)]
        return cluster.run("experiment", "create", "const.yaml", ".", *place, *words, directory=noisy, **how)

    refused = create("resources.max_slots=2", "resources.priority=9", code=1)
    assert "resources.max_slots is 2; the policy of workspace 'vision' allows at most 1" in refused, refused
    assert "resources.priority is 9; the cluster's policy allows no number below 30" in refused, refused

    create("max_restarts=0", "environment.environment_variables=[TEAM=mine]", "searcher.max_length.batches=100000")
    config = json.loads(cluster.run("experiment", "config", 1, "--json"))
    assert config["max_restarts"] == 3
    assert config["resources"]["max_slots"] == 1
    assert config["environment"]["environment_variables"][-2:] == ["TEAM=mine", "TEAM=vision"]
    for words, sentence in (
        (("experiment", "set", "max-slots", 1, 4), "resources.max_slots is 4; the policy of workspace 'vision'"),
        (("experiment", "set", "priority", 1, 5), "resources.priority is 5; the cluster's policy"),
        (("job", "update", 1, "--priority", 5), "resources.priority is 5; the cluster's policy"),
    ):
        refused = cluster.run(*words, code=1)
        assert sentence in refused, refused
    cluster.run("experiment", "set", "priority", 1, 31)
    cluster.run("experiment", "kill", 1)

    said = cluster.run("command", "run", "-w", "vision", "--config", "resources.slots=0", "echo team=$TEAM.")
    assert "team=vision." in said, said
    admin("cp", "delete", "experiment", "-w", "vision")
    create("resources.max_slots=2")
