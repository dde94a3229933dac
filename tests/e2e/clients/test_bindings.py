"""The generated client, `determined.common.api.bindings`, against a whole cluster."""

import pytest
from cluster import HERE
from sdk import run_python

HEAD = """
import base64, pathlib
from determined.common import api
from determined.common.api import bindings, errors

session = api.Session()
"""
CREATE = """
files = [
    bindings.v1File(path=path.name, type=48, mode=0o644, mtime="0", uid=0, gid=0,
                    content=base64.b64encode(path.read_bytes()).decode())
    for path in pathlib.Path().glob("*.py")
]
config = pathlib.Path("const.yaml").read_text().replace("300", "20").replace("0.003", "0.0")
"""
# Calls that wait for news.
WAITING = ("get_AllocationPreemptionSignal", "get_GetChangesFollow", "get_GetAllocationWish", "get_GetSearcherEvents")
# Calls that need several metrics, a job that waits, the process of a trial, or a pool with a provider.
REFUSED = {
    "get_GetExperimentPareto",
    "get_GetJobReason",
    "get_GetRendezvousAddresses",
    "get_GetResourcePoolProvider",
    "get_GetSearcherOperation",
}


@pytest.fixture(scope="module")
def trained(cluster):
    """The id of an experiment that the client has created, and whose trial is COMPLETED."""
    text = run_python(
        cluster,
        HEAD
        + CREATE
        + """
body = bindings.v1CreateExperimentRequest(config=config, modelDefinition=files, activate=True)
print(bindings.post_CreateExperiment(session, body=body).experiment.id)
""",
        HERE / "models" / "noisy",
    )
    cluster.wait_for_state(int(text), "COMPLETED")
    return int(text)


def test_a_user_logs_in_and_out(cluster, tmp_path):
    run_python(
        cluster,
        HEAD
        + """
reply = bindings.post_Login(session, body=bindings.v1LoginRequest(username="determined", password=""))
assert reply.token and reply.user.username == "determined"
assert bindings.get_GetMe(session).user == reply.user
bindings.post_Logout(session)
""",
        tmp_path,
    )


def test_an_experiment_is_created_paused_found_and_patched(cluster, trained):
    run_python(
        cluster,
        HEAD
        + CREATE
        + """
body = bindings.v1CreateExperimentRequest(config=config, modelDefinition=files, activate=False)
created = bindings.post_CreateExperiment(session, body=body).experiment
assert created.state is bindings.experimentv1State.PAUSED, created
patch = bindings.v1PatchExperiment(id=created.id, name="renamed", labels=["one", "two"])
patched = bindings.patch_PatchExperiment(session, experiment_id=created.id, body=patch).experiment
assert (patched.name, sorted(patched.labels)) == ("renamed", ["one", "two"])

notes = bindings.v1PatchExperiment(notes="what was not given stays")
bindings.patch_PatchExperiment(session, experiment_id=created.id, body=notes)
read = bindings.get_GetExperiment(session, experimentId=created.id).experiment
assert (read.name, read.notes) == ("renamed", "what was not given stays")

listed = bindings.get_GetExperiments(
    session, states=[bindings.experimentv1State.PAUSED], labels=["two"], experimentIdFilter_gte=created.id,
    sortBy=bindings.v1GetExperimentsRequestSortBy.ID, orderBy=bindings.v1OrderBy.DESC,
)
assert [e.id for e in listed.experiments] == [created.id] and listed.pagination.total == 1
bindings.post_KillExperiment(session, id=created.id)

def page(offset):
    return bindings.get_GetExperiments(session, offset=offset, limit=1)

everything = bindings.get_GetExperiments(session).experiments
assert [one.id for reply in api.read_paginated(page) for one in reply.experiments] == [e.id for e in everything]
assert len(list(api.read_paginated(page, pages=api.PageOpts.single))) == 1
try:
    bindings.get_GetExperiment(session, experimentId=99999)
except errors.NotFoundException as error:
    assert "99999" in str(error)
else:
    raise AssertionError("there is no such experiment")
""",
        HERE / "models" / "noisy",
    )


def test_the_metrics_and_the_log_of_a_trial_are_streamed(cluster, trained, tmp_path):
    run_python(
        cluster,
        HEAD
        + f"""
(trial,) = bindings.get_GetExperimentTrials(session, experimentId={trained}).trials
assert trial.state is bindings.trialv1State.COMPLETED and trial.totalBatchesProcessed == 20
stream = bindings.get_GetValidationMetrics(session, trialIds=range(trial.id, trial.id + 1))
reports = [report for reply in stream for report in reply.metrics]
assert [report.totalBatches for report in reports] == [20]
loss = reports[0].metrics["validation_metrics"]["validation_loss"]
assert trial.bestValidation.metrics.avgMetrics["validation_loss"] == loss == trial.searcherMetricValue
lines = list(bindings.get_TaskLogs(session, taskId=trial.taskId, orderBy=bindings.v1OrderBy.ASC))
assert any("line 0 batch 0" in line.log for line in lines)
assert all(isinstance(line.level, bindings.v1LogLevel) for line in lines)
(checkpoint,) = bindings.get_GetTrialCheckpoints(session, id=trial.id).checkpoints
assert checkpoint.state is bindings.checkpointv1State.COMPLETED and checkpoint.training.trialId == trial.id
""",
        tmp_path,
    )


def test_every_reply_of_the_master_is_what_its_message_says(cluster, trained):
    run_python(
        cluster,
        HEAD
        + CREATE
        + f"""
import inspect
session = api.Session(user="admin", password="")
(trial,) = bindings.get_GetExperimentTrials(session, experimentId={trained}).trials
bindings.post_PostModel(session, body=bindings.v1PostModelRequest(name="model"))
version = bindings.v1PostModelVersionRequest(modelName="model", checkpointUuid=trial.bestCheckpoint.uuid)
bindings.post_PostModelVersion(session, modelName="model", body=version)
template = bindings.v1Template(name="template", config={{"labels": ["of the template"]}}, workspaceId=1)
bindings.post_PostTemplate(session, template_name="template", body=template)
body = bindings.v1CreateExperimentRequest(config=config, modelDefinition=files, template="template", validateOnly=True)
assert bindings.post_CreateExperiment(session, body=body).config["labels"] == ["of the template"]
hook = bindings.v1Webhook(
    url="https://hooks.invalid/hook", webhookType=bindings.v1WebhookType.DEFAULT, workspaceId=1, name="hook",
    mode=bindings.v1WebhookMode.WORKSPACE, triggers=[bindings.v1Trigger(
        triggerType=bindings.v1TriggerType.EXPERIMENT_STATE_CHANGE, condition={{"state": "COMPLETED"}})],
)
bindings.post_PostWebhook(session, body=hook)
(agent,) = bindings.get_GetAgents(session).agents
group = bindings.post_CreateGroup(session, body=bindings.v1CreateGroupRequest(name="group", addUsers=[1])).group
launch = bindings.v1LaunchCommandRequest(config={{"entrypoint": ["true"]}})
command = bindings.post_LaunchCommand(session, body=launch).command
first = bindings.v1SetCommandPriorityRequest(commandId=command.id, priority=7)
assert bindings.post_SetCommandPriority(session, commandId=command.id, body=first).command.id == command.id
(allocation,) = bindings.get_GetTask(session, taskId=trial.taskId).task.allocations
given = {{
    "experimentId": {trained}, "trialId": trial.id, "trialIds": [trial.id], "taskId": trial.taskId,
    "checkpointUuid": trial.bestCheckpoint.uuid, "modelName": "model", "modelVersionNum": 1, "templateName": "template",
    "agentId": agent.id, "slotId": "0", "userId": 1, "username": "determined", "runId": trial.id,
    "workspaceId": 1, "projectId": 1, "resourcePoolName": "default", "workloadType": "EXPERIMENT",
    "metricName": "validation_loss", "metricType": bindings.v1MetricType.VALIDATION, "group": "validation",
    "metricNames": ["validation_loss"],
    "jobId": bindings.get_GetExperiment(session, experimentId={trained}).experiment.jobId,
    "groupId": group.groupId, "commandId": command.id, "allocationId": allocation.allocationId,
    "labels_trialId": trial.id,
    "ids": [{trained}], "period": bindings.v1ResourceAllocationAggregationPeriod.DAILY, "startDate": "2020-01-01",
    "endDate": "2020-01-02", "timestampAfter": "2020-01-01T00:00:00Z", "timestampBefore": "2090-01-02T00:00:00Z",
}}
answered, refused = [], set()
for name in sorted(vars(bindings)):
    if not name.startswith("get_") or name in {WAITING}:
        continue
    call = getattr(bindings, name)
    parameters = inspect.signature(call).parameters
    values = {{key: value for key, value in given.items() if key in parameters}}
    if "id" in parameters:
        values["id"] = {trained} if "Experiment" in name else 1
    needed = {{key for key, p in parameters.items() if p.default is p.empty}} - {{"session"}}
    if needed <= values.keys():
        try:
            reply = call(session, **values)
            answered.append((name, list(reply) if inspect.isgenerator(reply) else reply))
        except errors.APIException as error:
            refused.add(name)
            print(name, error)
assert refused == {REFUSED} and len(answered) > 90, len(answered)
""",
        HERE / "models" / "noisy",
    )
