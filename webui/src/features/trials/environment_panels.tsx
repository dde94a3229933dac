import { usePolled } from "../../api/loadable";
import { Loaded, Pairs, Panel } from "../../components/parts";
import { getEnvironment } from "./api";
import { environmentSections } from "./environment";

/** What the trial ran in; asked again until it has begun. */
export function EnvironmentPanels({ id, live }: { id: number; live: boolean }) {
  const [loaded] = usePolled(
    `environment ${id}`,
    (signal) => getEnvironment(id, signal),
    2000,
    ({ environments }) => environments.length === 0 && live,
  );
  return (
    <Loaded of={loaded} what={`environment of trial ${id}`}>
      {(of) => (
        <div className="columns">
          {environmentSections(of).map(({ title, rows }, index) => (
            <Panel key={index} title={title}>
              <Pairs rows={rows} />
            </Panel>
          ))}
        </div>
      )}
    </Loaded>
  );
}
