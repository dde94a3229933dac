import type { Experiment } from "../../../api/types";
import { Panel } from "../../../components/parts";
import { NumberedText } from "../../../components/forms/text";

/** What the user wrote, and what became of it. */
export function Configuration({ experiment }: { experiment: Experiment }) {
  const href = `data:application/yaml;charset=utf-8,${encodeURIComponent(experiment.originalConfig)}`;
  return (
    <div className="columns">
      <Panel
        title="As submitted"
        tools={
          <a href={href} download={`experiment-${experiment.id}.yaml`}>
            Download
          </a>
        }
      >
        <NumberedText text={experiment.originalConfig} language="yaml" />
      </Panel>
      <Panel title="With all defaults">
        <NumberedText text={JSON.stringify(experiment.config, undefined, 2)} language="json" />
      </Panel>
    </div>
  );
}
