import { usePolled } from "../../api/loadable";
import type { Experiment, Trial } from "../../api/types";
import { isTerminal } from "../../components/format";
import { Loaded } from "../../components/parts";
import { experimentTabs, type ExperimentTab } from "../../components/address/paths";
import { Link, Tabs } from "../../components/address/route";
import { getExperiment, listTrials } from "./api";
import { Checkpoints } from "./checkpoints";
import { Code } from "./code/code";
import { Configuration } from "./code/configuration";
import { Head } from "./head";
import { FirstLogs } from "./first_logs";
import { Notes } from "./notes";
import { Overview } from "./searching/overview";
import { SearchTab } from "./searching/search_tab";
import { TrialTable } from "./trial_table";

const pollMs = 1000;
/** With more trials than this, they are asked for less often. */
const manyTrials = 200;

interface Both {
  readonly experiment: Experiment;
  readonly trials: readonly Trial[];
}

async function load(id: number, signal: AbortSignal): Promise<Both> {
  const [experiment, trials] = await Promise.all([getExperiment(id, signal), listTrials(id, signal)]);
  return { experiment, trials };
}

/** One experiment: its state, what one can do with it, its trials, what it searches and what it was made from. */
export function ExperimentPage({ id, tab }: { id: number; tab: ExperimentTab }) {
  const [loaded, reload] = usePolled(
    `experiment ${id}`,
    (signal) => load(id, signal),
    (value) => (value !== undefined && value.trials.length > manyTrials ? 5 * pollMs : pollMs),
    ({ experiment }) => !isTerminal(experiment.state),
    { topics: [`experiment ${id}`], leastMs: 250 },
  );
  return (
    <Loaded of={loaded} what={`experiment ${id}`} title={`Experiment ${id}`}>
      {({ experiment, trials }) => (
        <>
          <Head experiment={experiment} trials={trials} reload={reload} />
          <Tabs label="Experiment sections">
            {experimentTabs
              .filter((name) => name !== "search" || trials.length > 1 || tab === "search")
              .map((name) => (
                <Link key={name} to={{ page: "experiment", id, tab: name }} current={name === tab}>
                  {name}
                </Link>
              ))}
          </Tabs>
          {experiment.numTrials > trials.length && tab !== "logs" && (
            <p className="quiet">
              Showing {trials.length.toLocaleString("en-US")} of {experiment.numTrials.toLocaleString("en-US")} trials. To list all of them, run{" "}
              <code>det experiment list-trials {id}</code>.
            </p>
          )}
          <Content experiment={experiment} trials={trials} tab={tab} reload={reload} />
        </>
      )}
    </Loaded>
  );
}

function Content({ experiment, trials, tab, reload }: Both & { tab: ExperimentTab; reload: () => void }) {
  switch (tab) {
    case "overview":
      return <Overview experiment={experiment} trials={trials} />;
    case "search":
      return <SearchTab experiment={experiment} trials={trials} />;
    case "trials":
      return <TrialTable trials={trials} metric={experiment.searcherMetric} best={experiment.bestTrialId ?? undefined} />;
    case "checkpoints":
      return <Checkpoints id={experiment.id} live={!isTerminal(experiment.state)} />;
    case "configuration":
      return <Configuration experiment={experiment} />;
    case "code":
      return <Code id={experiment.id} />;
    case "notes":
      return <Notes experiment={experiment} reload={reload} />;
    case "logs":
      return <FirstLogs experiment={experiment} trials={trials} />;
  }
}
