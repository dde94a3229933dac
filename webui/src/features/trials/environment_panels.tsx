import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { TrialEnvironments } from "../../api/types";
import { Loaded, Pairs, Panel } from "../../components/parts";
import { environmentSections } from "./environment";

/** What the trial ran in; asked again until it has begun. */
export function EnvironmentPanels({ id, live }: { id: number; live: boolean }) {
  const [loaded] = usePolled(
    `environment ${id}`,
    async (signal) => (await get("/api/v1/trials/{trialId}/environment", { path: { trialId: id } }, signal)) as TrialEnvironments,
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
