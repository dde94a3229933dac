"""Programs that walk through the SDK; `TRAINED` is the id of an experiment of one trial. For test_sdk.py."""

PEOPLE_AND_PLACES = """
from determined.common.api import errors
from determined.experimental import Determined, Experiment

def refused(kind, call):
    try:
        call()
    except kind:
        return
    raise SystemExit("not refused")

admin = Determined(user="admin", password="")
session = admin._session
assert (admin.whoami().username, admin.get_session_username(), admin.whoami().admin) == ("admin", "admin", True)

ada = admin.create_user("ada", admin=False, password="Lovelace1815")
ada.change_display_name("Ada")
ada.rename("ada of the mill/2")
assert admin.get_user_by_name("ada of the mill/2").display_name == "Ada" and "ada" in repr(ada)
ada.change_password("Engine1843")
refused(errors.InvalidCredentialsException, lambda: Determined(user=ada.username, password="Lovelace1815"))
assert Determined(user=ada.username, password="Engine1843").whoami().user_id == ada.user_id
ada.deactivate()
assert [user.user_id for user in admin.list_users(active=False)] == [ada.user_id]
ada.activate()
assert admin.get_user_by_id(ada.user_id).active

team = admin.create_workspace("team")
assert [w.name for w in admin.list_workspaces()] == ["Uncategorized", "team"]
assert [pool.name for pool in team.list_pools()] == [pool.name for pool in admin.list_resource_pools()] == ["default"]
(pool,) = admin.list_resource_pools()
assert pool.list_workspaces() == []
refused(errors.BadRequestException, lambda: pool.add_bindings(["team"]))  # it is the default one
pool.replace_bindings([])
vision = team.create_project("vision", "seeing")
vision.set_name("sight"), vision.set_description("to see"), vision.set_key("SEE")
vision.add_note("one", "text"), vision.add_note("two", "text"), vision.remove_note("one")
vision.archive()
assert team.get_project("sight").archived
vision.unarchive()
vision.reload()
assert (vision.key, vision.description, [n["name"] for n in vision.notes]) == ("SEE", "to see", ["two"])

experiment = Experiment(TRAINED, session)
assert (experiment.project_id, experiment.workspace_id) == (1, 1)
experiment.move_to_project("team", "sight")
assert (experiment.project_id, experiment.workspace_id) == (vision.id, team.id)
assert [e.id for e in vision.list_experiments()] == [experiment.id]
assert [e.id for e in admin.list_experiments(project_id=vision.id, experiment_ids=[experiment.id])] == [experiment.id]
experiment.move_to_project("Uncategorized", "Uncategorized")
team.delete_project("sight")
refused(errors.NotFoundException, lambda: team.get_project("sight"))
admin.delete_workspace("team")
refused(errors.NotFoundException, lambda: admin.get_workspace("team"))
"""

MORE_OF_A_TRIAL = """
import tarfile
from determined.experimental import Checkpoint, Determined, ModelVersion, Trial
from determined.experimental.client import OrderBy, TrialSortBy

master = Determined(user="determined", password="")
session = master._session
experiment = master.get_experiment(TRAINED)
assert "model_def.py" in tarfile.open(experiment.download_code("code")).getnames()
for sort_by in TrialSortBy:
    assert len(list(experiment.iter_trials(sort_by, OrderBy.DESC, limit=1))) == 1
trial = Trial(experiment.list_trials()[0].id, session)
assert trial.get_experiment().id == experiment.id
assert {report.group for report in trial.iter_metrics()} == {"training", "validation"}

lines = list(trial.logs())
assert all("batch 5" in line for line in trial.logs(search_text="batch 5")) and list(trial.logs(search_text="batch 5"))
by_master = list(trial.logs(sources=["master"]))
assert by_master and set(by_master) < set(lines)
middle = sorted(line[1:28] for line in lines)[len(lines) // 2]  # lines come as they arrive, not always by their times
assert list(trial.logs(timestamp_before=middle)) == [line for line in lines if line[1:28] < middle] != []
assert list(trial.logs(timestamp_after=0)) == lines and list(trial.logs(timestamp_before=0)) == []

best = Checkpoint(session, experiment.top_checkpoint().uuid)
model = master.create_model("walked")
version = model.register_version(best.uuid)
assert ModelVersion(session, 1, "walked").checkpoint.uuid == best.uuid
assert list(version.iter_metrics()) == list(version.get_metrics("validation")) == []
assert [m.name for m in master.get_models(name="walked", workspace_ids=[1])] == ["walked"]
assert master.list_models(workspace_ids=[2]) == []
model.delete()
experiment.delete_tensorboard_files()
"""
