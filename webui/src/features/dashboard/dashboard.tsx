import type { ReactNode } from "react";
import { get, type Query } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Experiment, ExperimentPage as List, ResourcePool } from "../../api/types";
import { count, formatNumber, hasRun, isTerminal, runTime } from "../../components/format";
import { useMe } from "../../components/people/me";
import { Age, Loaded, PageHead, Panel, Progress, StateBadge } from "../../components/parts";
import { Link } from "../../components/address/route";
import { FirstExperiment } from "../experiments/first_experiment";

const pollMs = 2000;
const shown = 8;

interface Everything {
  readonly running: List;
  readonly ended: List;
  readonly mine: List;
  readonly pools: readonly ResourcePool[];
}

const activeStates = ["STATE_ACTIVE", "STATE_RUNNING", "STATE_QUEUED", "STATE_STARTING", "STATE_PULLING"];
const endedStates = ["STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR"];

async function load(username: string, signal: AbortSignal): Promise<Everything> {
  const list = async (parameters: Query<"/api/v1/experiments">): Promise<List> =>
    (await get("/api/v1/experiments", { query: { archived: false, limit: shown, orderBy: "ORDER_BY_DESC", omitConfig: true, ...parameters } }, signal)) as List;
  const [running, ended, mine, { resourcePools }] = await Promise.all([
    list({ states: activeStates, sortBy: "SORT_BY_START_TIME" }),
    list({ states: endedStates, sortBy: "SORT_BY_END_TIME" }),
    list({ users: [username], sortBy: "SORT_BY_ID" }),
    get("/api/v1/resource-pools", {}, signal),
  ]);
  return { running, ended, mine, pools: resourcePools };
}

/** What goes on now, what just ended, and what is one's own. */
export function Dashboard() {
  const me = useMe();
  const [loaded] = usePolled(`dashboard ${me.username}`, (signal) => load(me.username, signal), pollMs, undefined, {
    topics: ["experiments"],
    leastMs: 1000,
  });
  return (
    <>
      <PageHead title="Dashboard" />
      <Loaded of={loaded} what="the dashboard">
        {({ running, ended, mine, pools }) => (
          <>
            <Cards running={running} mine={mine} pools={pools} />
            <div className="columns wide">
              <Experiments title="Active now" list={running} query={{ state: "active" }} empty="No active experiments." />
              <Experiments title="Recently finished" list={ended} query={{ sort: "-ended" }} empty="No finished experiments yet." />
            </div>
            <Experiments
              title="My experiments"
              list={mine}
              query={{ user: "me" }}
              empty={
                <>
                  You have no experiments yet. To create a first one:
                  <FirstExperiment />
                </>
              }
            />
          </>
        )}
      </Loaded>
    </>
  );
}

function Cards({ running, mine, pools }: Pick<Everything, "running" | "mine" | "pools">) {
  const total = pools.reduce((sum, { slotsAvailable }) => sum + slotsAvailable, 0);
  const used = pools.reduce((sum, { slotsUsed }) => sum + slotsUsed, 0);
  const agents = pools.reduce((sum, { numAgents }) => sum + numAgents, 0);
  return (
    <div className="cards">
      <Link to={{ page: "experiments" }} query={{ state: "active" }} className="card">
        <div className="quiet">Active experiments</div>
        <div className="big">{running.pagination.total ?? 0}</div>
      </Link>
      <Link to={{ page: "cluster", tab: "overview" }} className="card">
        <div className="quiet">Slots in use</div>
        <div className="big">
          {used} <span className="quiet of">of {total}</span>
        </div>
        <progress max={Math.max(1, total)} value={used} aria-label="Slots in use" />
      </Link>
      <Link to={{ page: "cluster", tab: "overview" }} className="card">
        <div className="quiet">Agents connected</div>
        <div className="big">{agents}</div>
      </Link>
      <Link to={{ page: "experiments" }} query={{ user: "me" }} className="card">
        <div className="quiet">My experiments</div>
        <div className="big">{mine.pagination.total ?? 0}</div>
      </Link>
    </div>
  );
}

interface ExperimentsProps {
  readonly title: string;
  readonly list: List;
  readonly query: Readonly<Record<string, string>>;
  readonly empty: ReactNode;
}

function Experiments({ title, list: { experiments, pagination }, query, empty }: ExperimentsProps) {
  const total = pagination.total ?? 0;
  return (
    <Panel
      title={title}
      tools={
        total > experiments.length && (
          <Link to={{ page: "experiments" }} query={query}>
            all {count(total, "experiment")}
          </Link>
        )
      }
    >
      {experiments.length === 0 ? (
        <div className="quiet">{empty}</div>
      ) : (
        <div className="table">
          <table aria-label={title}>
            <tbody>
              {experiments.map((experiment) => (
                <Row key={experiment.id} experiment={experiment} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function Row({ experiment: { id, name, state, progress, searcherMetric, bestTrialSearcherMetric, startTime, endTime, username } }: { experiment: Experiment }) {
  const over = isTerminal(state);
  return (
    <tr>
      <td className="number tight">{id}</td>
      <td className="rest">
        <Link to={{ page: "experiment", id, tab: "overview" }}>
          {name || "(no name)"}
        </Link>
      </td>
      <td>
        <StateBadge state={state} />
      </td>
      <td>{state === "STATE_RUNNING" && <Progress fraction={progress} />}</td>
      <td className="number" title={searcherMetric}>
        {formatNumber(bestTrialSearcherMetric)}
      </td>
      <td className="quiet nowrap">
        <span className="user" title={username}>
          {username}
        </span>
      </td>
      <td
        className="quiet nowrap number"
        title={hasRun(state) ? `${over ? "ran for" : "running for"} ${runTime(startTime, endTime, Date.now())}` : "submitted"}
      >
        <Age time={endTime ?? startTime} />
      </td>
    </tr>
  );
}
