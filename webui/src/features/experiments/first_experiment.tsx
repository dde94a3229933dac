import { CopyButton } from "../../components/forms/copy_button";

/** The commands that train a first model on this master, for somebody who has no experiments. */
export function FirstExperiment({ project }: { project?: number | undefined }) {
  const where = project === undefined ? "" : `--project_id ${project} `;
  const steps: readonly (readonly [what: string, command: string])[] = [
    ["Tell the command line where this master is", `export DET_MASTER=${location.origin}`],
    ["Make a project that trains in seconds", "det init spirals"],
    ["Train it and follow its log", `det experiment create -f ${where}spirals/const.yaml spirals`],
    ["Search its hyperparameters", `det experiment create ${where}spirals/search.yaml spirals`],
  ];
  return (
    <ol className="steps">
      {steps.map(([what, command]) => (
        <li key={command}>
          {what}
          <div className="row">
            <code>{command}</code>
            <CopyButton text={command} />
          </div>
        </li>
      ))}
    </ol>
  );
}
