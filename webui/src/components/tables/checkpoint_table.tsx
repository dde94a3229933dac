import { useMemo, useState } from "react";
import { get, post } from "../../api/client";
import type { Checkpoint } from "../../api/types";
import { usePolled } from "../../api/loadable";
import { Dialog } from "../forms/dialog";
import { formatBytes, formatNumber, toNumber } from "../format";
import { useRights } from "../people/me";
import { Age, Field, Loaded, Pairs, StateBadge } from "../parts";
import { Link } from "../address/route";
import { type Column, Table } from "./table";

const bytesOf = ({ resources }: Checkpoint) => Object.values(resources).reduce((sum, size) => sum + Number(size), 0);
const batchesOf = ({ metadata }: Checkpoint) => toNumber(metadata.steps_completed);

/** Checkpoints, a row each, with their files and a way into the model registry. */
export function CheckpointTable({ checkpoints, withTrial = false }: { checkpoints: readonly Checkpoint[]; withTrial?: boolean }) {
  const [opened, setOpened] = useState<Checkpoint>();
  const columns = useMemo((): Column<Checkpoint>[] => {
    const trial: Column<Checkpoint> = {
      id: "trial",
      title: "Trial",
      number: true,
      value: ({ training }) => training.trialId ?? undefined,
      cell: ({ training }) =>
        training.trialId ? <Link to={{ page: "trial", id: training.trialId, tab: "overview" }}>{training.trialId}</Link> : null,
    };
    return [
      {
        id: "uuid",
        title: "UUID",
        cell: (checkpoint) => (
          <button type="button" className="text mono" title="Show files" onClick={() => setOpened(checkpoint)}>
            {checkpoint.uuid}
          </button>
        ),
      },
      ...(withTrial ? [trial] : []),
      {
        id: "batches",
        title: "Batches",
        number: true,
        value: batchesOf,
        cell: (checkpoint) => batchesOf(checkpoint)?.toLocaleString("en-US"),
      },
      {
        id: "metric",
        title: "Searcher metric",
        number: true,
        value: ({ training }) => toNumber(training.searcherMetric),
        cell: ({ training }) => formatNumber(training.searcherMetric),
      },
      { id: "state", title: "State", value: ({ state }) => state, cell: ({ state }) => <StateBadge state={state} /> },
      { id: "size", title: "Size", number: true, value: bytesOf, cell: (checkpoint) => (bytesOf(checkpoint) > 0 ? formatBytes(bytesOf(checkpoint)) : "") },
      {
        id: "saved",
        title: "Saved",
        value: ({ reportTime }) => Date.parse(reportTime),
        cell: ({ reportTime }) => <Age time={reportTime} />,
      },
    ];
  }, [withTrial]);
  return (
    <>
      <Table
        label="Checkpoints"
        rows={checkpoints}
        columns={columns}
        rowKey={({ uuid }) => uuid}
        order="-saved"
        empty="No checkpoints yet."
      />
      {opened !== undefined && <CheckpointDialog checkpoint={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}

/** The files of a checkpoint; registers it as a version of a model. */
function CheckpointDialog({ checkpoint, onClose }: { checkpoint: Checkpoint; onClose: () => void }) {
  const [models] = usePolled("models", (signal) => get("/api/v1/models", { query: { archived: false } }, signal), 0, () => false);
  const { may } = useRights();
  const [model, setModel] = useState("");
  const [name, setName] = useState("");
  const complete = checkpoint.state === "STATE_COMPLETED";
  const register = async () => {
    await post("/api/v1/models/{modelName}/versions", { path: { modelName: model }, body: { checkpointUuid: checkpoint.uuid, name } });
  };
  return (
    <Dialog title={`Checkpoint ${checkpoint.uuid}`} action="Register" wide disabled={!complete || model === ""} onAction={register} onClose={onClose}>
      <Pairs
        rows={Object.entries(checkpoint.resources)
          .filter(([path]) => !path.endsWith("/"))
          .map(([path, size]) => [path, formatBytes(Number(size))])}
      />
      <p className="quiet">
        <code>det checkpoint download {checkpoint.uuid}</code>
      </p>
      {complete && (
        <Loaded of={models} what="models">
          {({ models: all }) => {
            const list = all.filter(({ workspaceId, userId }) => may("EDIT_MODEL_REGISTRY", { workspace: workspaceId, owners: [userId] }));
            return list.length === 0 ? (
              <p className="quiet">To register this checkpoint, create a model on the Models page first.</p>
            ) : (
              <div className="columns">
                <Field label="Register as a version of model">
                  <select value={model} onChange={(event) => setModel(event.target.value)}>
                    <option value="">Select a model</option>
                    {list.map(({ name: one }) => (
                      <option key={one}>{one}</option>
                    ))}
                  </select>
                </Field>
                <Field label="Version name (optional)">
                  <input value={name} onChange={(event) => setName(event.target.value)} />
                </Field>
              </div>
            );
          }}
        </Loaded>
      )}
    </Dialog>
  );
}
