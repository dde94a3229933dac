import { useState } from "react";
import { post } from "../../../api/client";
import type { Experiment, Trial } from "../../../api/types";
import { Dialog } from "../../../components/forms/dialog";
import { count, formatNumber } from "../../../components/format";
import { Choice } from "../../../components/parts";
import { go } from "../../../components/address/route";
import { ConfigEditor } from "./form/config_editor";
import { continuedConfig, forkedConfig } from "./fork_config";
import { base64, modelDefinition } from "../../../components/code/model_definition";
import { late } from "../../../components/late";

const DiffView = late(() => import("../../../components/code/diff_view").then((m) => m.default));

interface ForkProps {
  readonly experiment: Experiment;
  readonly trials: readonly Trial[];
  readonly kind: "fork" | "continue";
  readonly onClose: () => void;
}

/** A new experiment with the files of this one and a configuration that can be changed first. */
export function ForkDialog({ experiment, trials, kind, onClose }: ForkProps) {
  const starts = trials.filter(({ checkpointCount }) => (checkpointCount ?? 0) > 0);
  const best = starts.find(({ id }) => id === experiment.bestTrialId) ?? starts[0];
  const configFor = (trial: Trial | undefined) =>
    kind === "continue" && trial !== undefined
      ? continuedConfig(experiment.originalConfig, trial.id)
      : forkedConfig(experiment.originalConfig);
  const [from, setFrom] = useState(best);
  const [config, setConfig] = useState(configFor(best));
  const [activate, setActivate] = useState(true);
  const create = async () => {
    const files = await modelDefinition(experiment.id);
    const { experiment: created } = await post("/api/v1/experiments", {
      body: {
        config,
        activate,
        parentId: experiment.id,
        modelDefinition: files.map(({ path, type, mode, mtime, content }) => ({ path, type, mode, mtime: String(mtime), content: base64(content) })),
      },
    });
    go({ page: "experiment", id: created.id, tab: "overview" });
  };
  return (
    <Dialog
      title={kind === "fork" ? `Fork experiment ${experiment.id}` : `Continue from a checkpoint of experiment ${experiment.id}`}
      action={activate ? "Create and start" : "Create paused"}
      wide
      changed={config !== configFor(from)}
      onAction={create}
      onClose={onClose}
    >
      <div className="row">
        {kind === "continue" && from !== undefined && (
          <Choice
            label="Latest checkpoint of trial"
            value={String(from.id)}
            options={starts.map(
              ({ id, searcherMetricValue, totalBatchesProcessed }) =>
                [String(id), `${id}: ${formatNumber(searcherMetricValue)} at ${count(totalBatchesProcessed, "batch", "batches")}`] as const,
            )}
            onChange={(id) => {
              const trial = starts.find((one) => String(one.id) === id);
              setFrom(trial);
              setConfig(configFor(trial));
            }}
          />
        )}
        <label className="check">
          <input type="checkbox" checked={activate} onChange={(event) => setActivate(event.target.checked)} /> Start immediately
        </label>
      </div>
      <ConfigEditor text={config} onText={setConfig} />
      <details className="changes">
        <summary>Changes to the configuration of experiment {experiment.id}</summary>
        <DiffView before={experiment.originalConfig} after={config} label="Changes to the configuration" same="The configuration is the same." />
      </details>
      <p className="quiet">The new experiment uses the same submitted files.</p>
    </Dialog>
  );
}
