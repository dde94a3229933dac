"""Roles and the audit log on the real program: two teams that do not see one another's work."""

import json


def test_two_teams_share_a_cluster_and_neither_sees_nor_touches_the_other(start, noisy, tmp_path):
    cluster = start(options=["--slots", "1"])

    def admin(*words, **how):
        return cluster.run("-u", "admin", *words, **how)

    def of(user, *words, **how):
        return cluster.run(*words, environment={"DET_USER": user, "DET_PASS": "pw"}, **how)

    cluster.token = cluster.get("auth/login", "POST", {"username": "admin", "password": ""})["token"]
    for user in ("ann", "bob", "eve"):
        cluster.get("users", "POST", {"user": {"username": user}, "password": "pw"})
    for team, user in (("vision", "ann"), ("speech", "bob")):
        admin("workspace", "create", team)
        admin("project", "create", team, "work")
        admin("rbac", "assign-role", "Editor", "-u", user, "-w", team)
    admin("rbac", "assign-role", "Viewer", "-u", "eve", "-w", "vision")
    assert "This master does not enforce roles" in of("ann", "rbac", "my-permissions")

    cluster.master.kill()
    cluster.options += ["--authz", "rbac"]
    cluster.start_master()

    def create(user, team):
        return of(
            user,
            *("experiment", "create", "const.yaml", ".", "--config", f"workspace={team}", "--config", "project=work"),
            directory=noisy,
        )

    text = create("ann", "vision")
    assert "Created experiment 1" in text
    refused = of(
        "ann",
        *("experiment", "create", "const.yaml", ".", "--config", "workspace=speech"),
        *("--config", "project=work"),
        directory=noisy,
        code=None,
    )
    assert "Created" not in refused
    of("ann", "experiment", "wait", 1)
    assert json.loads(of("ann", "experiment", "list", "--json"))

    # Who sees it and may not change it is told which role that needs; who does not see it, that there is none.
    eve = of("eve", "experiment", "delete", 1, "--yes", code=None)
    assert "user 'eve' cannot delete experiment 1: that requires the role EditorRestricted" in eve, eve
    bob = of("bob", "experiment", "describe", 1, code=None)
    assert "experiment '1' not found" in bob, bob
    assert json.loads(of("bob", "experiment", "list", "--all", "--json")) == []
    bob = of("bob", "trial", "logs", 1, code=None)
    assert "not found" in bob, bob
    whole = of("bob", "audit", "list", code=None)
    assert "that requires the role ClusterAdmin" in whole, whole

    members = of("eve", "workspace", "list-members", "vision")
    assert "ann" in members and "Editor" in members and "bob" not in members
    admin("rbac", "unassign-role", "Viewer", "-u", "eve", "-w", "vision")
    assert "not found" in of("eve", "experiment", "describe", 1, code=None)
    made = admin("user-group", "create", "seeing", "--add-user", "ann")
    assert "user group with name seeing and ID 1 created" in made
    admin("user-group", "add-user", "seeing", "eve,bob")
    admin("user-group", "remove-user", "seeing", "bob")
    assert "Assigned role Viewer to group 'seeing' in workspace 'vision'" in admin(
        *("rbac", "assign-role", "Viewer", "-g", "seeing", "-w", "vision")
    )
    assert "COMPLETED" in of("eve", "experiment", "describe", 1)
    assert "seeing" in of("eve", "workspace", "list-members", "vision")
    assert "vision" in admin("rbac", "list-groups-roles", "seeing")
    assert "eve" in of("bob", "user-group", "describe", "seeing")
    admin("user-group", "change-name", "seeing", "looking")
    assert "looking" in of("eve", "user-group", "list", "--groups-user-belongs-to", "eve")
    admin("user-group", "delete", "looking", "--yes")
    assert "not found" in of("eve", "experiment", "describe", 1, code=None)
    edited = admin("user", "edit", "eve", "--display-name", "Eve", "--username", "eva")
    assert "Changes made to the following fields: username, display name" in edited
    admin("user", "rename", "eva", "eve")

    last = admin("rbac", "unassign-role", "ClusterAdmin", "-u", "admin", code=None)
    assert "this change would remove the last ClusterAdmin" in last, last

    entries = json.loads(admin("audit", "list", "--username", "eve", "--refused", "--json"))
    assert [(e["operation"], e["status"], e["path"]) for e in entries] == [
        ("DELETE /api/v1/experiments/{id}", 403, "/api/v1/experiments/1")
    ]
