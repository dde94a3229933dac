import { usePolled } from "../../api/loadable";
import { getEnvironment } from "./api";
import { configurationRows, type Difference, differences } from "./compared";
import { environmentSections } from "./environment";
import type { TrialWithExperiment } from "../../api/trials";

/** Of a trial, one environment is compared: the newest. */
const newest = 1;

/** In what the experiments of the trials differ, and what they ran in: rows of the table of compared trials. */
export function DifferenceRows({ list }: { list: readonly TrialWithExperiment[] }) {
  const ids = list.map(({ trial }) => trial.id);
  const [environments] = usePolled(
    `environments ${ids.join()}`,
    (signal) => Promise.all(ids.map((id) => getEnvironment(id, signal))),
    10_000,
    () => false,
  );
  const configurations = differences(list.map(({ experiment }) => configurationRows(experiment.config)));
  const rows = environments.status !== "loaded" ? [] : environments.value.map((of) =>
    environmentSections({ ...of, environments: of.environments.slice(0, newest) }).flatMap((section) => section.rows),
  );
  return (
    <>
      <Section title="Configuration" rows={configurations} same="The configurations are the same." columns={list.length} />
      {environments.status === "loaded" && <Section title="Environment" rows={differences(rows)} same="The environments are the same." columns={list.length} />}
    </>
  );
}

function Section({ title, rows, same, columns }: { title: string; rows: readonly Difference[]; same: string; columns: number }) {
  return (
    <>
      <tr className="section">
        <th scope="rowgroup" colSpan={columns + 1}>
          {title} <span className="quiet">{rows.length === 0 ? same : "differences only"}</span>
        </th>
      </tr>
      {rows.map(({ name, values }) => (
        <tr key={name} className="differs">
          <th scope="row">{name}</th>
          {values.map((value, index) => (
            <td key={index} title={value}>
              {value ?? "–"}
            </td>
          ))}
        </tr>
      ))}
    </>
  );
}
