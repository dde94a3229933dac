import { useMemo, useState } from "react";
import { get, patch, post, remove, type Sent } from "../../api/client";
import { toApiError, usePolled } from "../../api/loadable";
import type { Model, ModelVersion } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { Editable } from "../../components/forms/edit";
import { flatten } from "../../components/format";
import { labelsOf, labelsText } from "../../components/forms/labels";
import { useRights } from "../../components/people/me";
import { Age, Labels, Loaded, Pairs, Panel, Problem, StateBadge } from "../../components/parts";
import { go, Link } from "../../components/address/route";
import { type Column, Table } from "../../components/tables/table";
import { useWorkspaceChoice, useWorkspaceNames, WorkspaceField } from "../../components/forms/workspace_choice";

interface Both {
  readonly model: Model;
  readonly versions: readonly ModelVersion[];
}

/** Where a model is and whose, for what may be done to it. */
const placeOf = ({ workspaceId, userId }: Model) => ({ workspace: workspaceId, owners: [userId] });

const one = "/api/v1/models/{modelName}";
const at = (modelName: string) => ({ path: { modelName } });

async function load(name: string, signal: AbortSignal): Promise<Both> {
  const reply = await get("/api/v1/models/{modelName}/versions", at(name), signal);
  return { model: reply.model, versions: reply.modelVersions };
}

/** One model and its versions. */
export function ModelPage({ name }: { name: string }) {
  const { may } = useRights();
  const [loaded, reload] = usePolled(`model ${name}`, (signal) => load(name, signal), 5000);
  return (
    <Loaded of={loaded} what={`model ${name}`} title={`Model ${name}`}>
      {({ model, versions }) => (
        <>
          <Head model={model} reload={reload} />
          <Versions model={model} versions={versions} reload={reload} />
          <div className="columns">
            <Panel title="Notes">
              <Editable what="notes" value={model.notes} multiline may={may("EDIT_MODEL_REGISTRY", placeOf(model))} onSave={(notes) => patch(one, { ...at(name), body: { notes } }).then(reload)}>
                {model.notes === "" ? <span className="quiet">No notes.</span> : <p className="prose">{model.notes}</p>}
              </Editable>
            </Panel>
            {Object.keys(model.metadata).length > 0 && (
              <Panel title="Metadata">
                <Pairs rows={flatten(model.metadata)} />
              </Panel>
            )}
          </div>
        </>
      )}
    </Loaded>
  );
}

function Head({ model, reload }: { model: Model; reload: () => void }) {
  const { name } = model;
  const [deletes, setDeletes] = useState(false);
  const [moves, setMoves] = useState(false);
  const { may } = useRights();
  const changes = may("EDIT_MODEL_REGISTRY", placeOf(model));
  const nameOf = useWorkspaceNames();
  const [problem, setProblem] = useState("");
  const save = (change: Sent<"patch", typeof one>["body"]) => patch(one, { ...at(name), body: change }).then(reload);
  const archive = () =>
    post(model.archived ? "/api/v1/models/{modelName}/unarchive" : "/api/v1/models/{modelName}/archive", at(name)).then(reload, (cause: unknown) => setProblem(toApiError(cause).message));
  const rename = async (to: string) => {
    await patch(one, { ...at(name), body: { name: to } });
    go({ page: "model", name: to }, {}, "replace");
  };
  return (
    <header className="pagehead">
      <div className="row">
        <h1>
          <span className="quiet">Model</span>{" "}
          <Editable what="name" value={name} may={changes} onSave={rename}>
            {name}
          </Editable>
        </h1>
        {model.archived && <span className="label">archived</span>}
        <div className="actions">
          {changes && (
            <>
              <button type="button" onClick={() => void archive()}>
                {model.archived ? "Unarchive" : "Archive"}
              </button>
              <button type="button" onClick={() => setMoves(true)}>
                Move
              </button>
            </>
          )}
          {may("DELETE_MODEL_REGISTRY", placeOf(model)) && (
            <button type="button" onClick={() => setDeletes(true)}>
              Delete
            </button>
          )}
        </div>
      </div>
      <p>
        <Editable what="description" value={model.description} may={changes} onSave={(description) => save({ description })}>
          {model.description || <span className="quiet">No description</span>}
        </Editable>
      </p>
      <p className="quiet row">
        <span>{model.username}</span>
        <span>
          in <Link to={{ page: "models" }} query={{ workspace: String(model.workspaceId) }}>{nameOf(model.workspaceId)}</Link>
        </span>
        <span>
          changed <Age time={model.lastUpdatedTime} />
        </span>
        <Editable
          what="labels, separated by commas"
          value={labelsText(model.labels)}
          may={changes}
          onSave={(text) => save({ labels: labelsOf(text) })}
        >
          {model.labels.length > 0 ? <Labels labels={model.labels} /> : "No labels"}
        </Editable>
      </p>
      <Problem text={problem} />
      {moves && <MoveModel model={model} onDone={reload} onClose={() => setMoves(false)} />}
      {deletes && (
        <Dialog
          title={`Delete model ${name}?`}
          action="Delete"
          danger
          onAction={() => remove(one, at(name)).then(() => go({ page: "models" }))}
          onClose={() => setDeletes(false)}
        >
          <p>Its {model.numVersions} versions are deleted too. The checkpoints are kept but no longer protected from deletion.</p>
        </Dialog>
      )}
    </header>
  );
}

function MoveModel({ model, onDone, onClose }: { model: Model; onDone: () => void; onClose: () => void }) {
  const target = useWorkspaceChoice("CREATE_MODEL_REGISTRY", model.workspaceId);
  const move = () => post("/api/v1/models/{modelName}/move", { ...at(model.name), body: { destinationWorkspaceId: target.value ?? 0 } }).then(onDone);
  return (
    <Dialog title={`Move model ${model.name}`} action="Move" disabled={target.value === undefined || target.value === model.workspaceId} onAction={move} onClose={onClose}>
      <WorkspaceField choice={target} />
    </Dialog>
  );
}

function Versions({ model, versions, reload }: Both & { reload: () => void }) {
  const [gone, setGone] = useState<ModelVersion>();
  const { may } = useRights();
  const columns = useMemo(
    (): Column<ModelVersion>[] => [
      { id: "version", title: "Version", number: true, value: ({ version }) => version, cell: ({ version }) => version },
      { id: "name", title: "Name", value: ({ name }) => name, cell: ({ name }) => name },
      {
        id: "trial",
        title: "Trial",
        number: true,
        cell: ({ checkpoint: { training } }) =>
          training.trialId ? <Link to={{ page: "trial", id: training.trialId, tab: "overview" }}>{training.trialId}</Link> : null,
      },
      { id: "checkpoint", title: "Checkpoint", cell: ({ checkpoint }) => <span className="mono">{checkpoint.uuid}</span> },
      { id: "state", title: "State", cell: ({ checkpoint }) => <StateBadge state={checkpoint.state} /> },
      { id: "comment", title: "Comment", cell: ({ comment }) => <span className="quiet">{comment}</span> },
      { id: "user", title: "User", value: ({ username }) => username, cell: ({ username }) => username },
      { id: "created", title: "Registered", value: ({ creationTime }) => Date.parse(creationTime), cell: ({ creationTime }) => <Age time={creationTime} /> },
      {
        id: "delete",
        title: "",
        cell: (version) =>
          may("DELETE_MODEL_VERSION", { workspace: model.workspaceId, owners: [version.userId] }) && (
            <button type="button" className="text" aria-label={`Delete version ${version.version}`} onClick={() => setGone(version)}>
              Delete
            </button>
          ),
      },
    ],
    [may, model.workspaceId],
  );
  return (
    <Panel title="Versions">
      <Table
        label="Versions"
        rows={versions}
        columns={columns}
        rowKey={({ version }) => version}
        order="-version"
        empty={`No versions yet. Register a checkpoint on the page of its experiment, or run: det model register-version "${model.name}" UUID`}
      />
      {gone !== undefined && (
        <Dialog
          title={`Delete version ${gone.version} of ${model.name}?`}
          action="Delete"
          danger
          onAction={() => remove("/api/v1/models/{modelName}/versions/{modelVersionNum}", { path: { modelName: model.name, modelVersionNum: String(gone.version) } }).then(reload)}
          onClose={() => setGone(undefined)}
        >
          <p>Checkpoint {gone.checkpoint.uuid} is kept, but this version no longer protects it from deletion.</p>
        </Dialog>
      )}
    </Panel>
  );
}
