import { useState } from "react";
import { get, post } from "../../api/client";
import { toApiError, usePolled } from "../../api/loadable";
import type { Agent, Job, ResourcePool, Slot, TaskSummary } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { useRights } from "../../components/people/me";
import { late, loading } from "../../components/late";
import { Age, Loaded, PageHead, Panel, Problem } from "../../components/parts";
import { type ClusterTab, clusterTabs } from "../../components/address/paths";
import { Link, Tabs } from "../../components/address/route";
import { type Column, Table } from "../../components/tables/table";
import { ClusterPolicies } from "./cluster_policies";
import { formatCost } from "./history";
import { MasterLog } from "./master_log";
import { Provider } from "./provider";
import { SlotMapPanel } from "./slot_map_panel";
import { agentSlots, type Holder, holders, type SlotRef, taskSubject } from "./usage";

const HistoryTab = late(() => import("./history_tab").then((m) => m.HistoryTab), loading);

const pollMs = 2000;

interface Everything {
  readonly agents: readonly Agent[];
  readonly pools: readonly ResourcePool[];
  readonly tasks: readonly TaskSummary[];
  readonly jobs: readonly Job[];
}

async function load(signal: AbortSignal): Promise<Everything> {
  const [{ agents }, { resourcePools }, { allocationIdToSummary }, { jobs }] = await Promise.all([
    get("/api/v1/agents", {}, signal),
    get("/api/v1/resource-pools", {}, signal),
    get("/api/v1/tasks", {}, signal),
    get("/api/v1/job-queues-v2", {}, signal),
  ]);
  return { agents, pools: resourcePools, tasks: Object.values(allocationIdToSummary) as TaskSummary[], jobs: jobs.map(({ full }) => full) };
}

/** The machines, their slots, and who uses what. */
export function ClusterPage({ tab }: { tab: ClusterTab }) {
  return (
    <>
      <PageHead title="Cluster" />
      <Tabs label="Cluster sections">
        {clusterTabs.map((name) => (
          <Link key={name} to={{ page: "cluster", tab: name }} current={name === tab}>
            {name === "logs" ? "master log" : name}
          </Link>
        ))}
      </Tabs>
      {tab === "overview" && <Overview />}
      {tab === "usage" && (
        <HistoryTab />
      )}
      {tab === "policies" && <ClusterPolicies />}
      {tab === "logs" && <MasterLog />}
    </>
  );
}

function Overview() {
  const [loaded, reload] = usePolled("cluster", load, pollMs, undefined, { topics: ["cluster"], leastMs: 500 });
  return (
    <Loaded of={loaded} what="the cluster">
      {({ agents, pools, tasks, jobs }) => (
        <>
          <Pools pools={pools} />
          {agents.length > 0 && <SlotMapPanel agents={agents} tasks={tasks} jobs={jobs} />}
          {pools.filter(({ provider }) => provider !== "").map(({ name }) => (
            <Provider key={name} pool={name} />
          ))}
          <Agents agents={agents} tasks={tasks} reload={reload} />
          <Tasks tasks={tasks} />
        </>
      )}
    </Loaded>
  );
}

const poolColumns: readonly Column<ResourcePool>[] = [
  { id: "name", title: "Pool", value: ({ name }) => name, cell: ({ name }) => name },
  { id: "description", title: "Description", cell: ({ description }) => <span className="quiet">{description}</span> },
  { id: "agents", title: "Agents", number: true, value: ({ numAgents }) => numAgents, cell: ({ numAgents }) => numAgents },
  {
    id: "used",
    title: "Slots used",
    number: true,
    value: ({ slotsUsed }) => slotsUsed,
    cell: ({ slotsUsed, slotsAvailable }) => (
      <>
        <progress max={Math.max(1, slotsAvailable)} value={slotsUsed} aria-label="Slots used" /> {slotsUsed} of {slotsAvailable}
      </>
    ),
  },
  {
    id: "scheduler",
    title: "Scheduler",
    cell: ({ scheduler }) => scheduler.replaceAll("_", " "),
  },
];

const priceColumn: Column<ResourcePool> = {
  id: "price",
  title: "Price per slot-hour",
  number: true,
  value: ({ pricePerSlotHour }) => pricePerSlotHour,
  cell: ({ pricePerSlotHour, currency }) => formatCost(pricePerSlotHour, currency),
};

function Pools({ pools }: { pools: readonly ResourcePool[] }) {
  const priced = pools.some(({ pricePerSlotHour }) => pricePerSlotHour > 0);
  return (
    <Panel title="Resource pools">
      <Table label="Resource pools" rows={pools} columns={priced ? [...poolColumns, priceColumn] : poolColumns} rowKey={({ name }) => name} order="name" parameter="pools-by" empty="No resource pools yet. Start an agent to add one." />
    </Panel>
  );
}

function Agents({ agents, tasks, reload }: { agents: readonly Agent[]; tasks: readonly TaskSummary[]; reload: () => void }) {
  const used = holders(tasks);
  return (
    <Panel title="Agents">
      {agents.length === 0 && (
        <p className="quiet">
          No agents are connected. To add one, run this on a machine with slots: <code>det agent --master {location.origin}</code>
        </p>
      )}
      {agents.map((agent) => (
        <AgentRow key={agent.id} agent={agent} used={used} reload={reload} />
      ))}
    </Panel>
  );
}

function AgentRow({ agent, used, reload }: { agent: Agent; used: ReadonlyMap<SlotRef, Holder>; reload: () => void }) {
  const { may } = useRights();
  const [problem, setProblem] = useState("");
  const [asks, setAsks] = useState(false);
  const slots = agentSlots(agent);
  const set = (verb: "enable" | "disable", drain: boolean) =>
    post(verb === "enable" ? "/api/v1/agents/{agentId}/enable" : "/api/v1/agents/{agentId}/disable", { path: { agentId: agent.id }, body: { drain } }).then(reload);
  return (
    <div className="agent">
      <div className="row">
        <strong>{agent.id}</strong>
        <span className="quiet">
          {slots[0]?.device.brand} · pool {agent.resourcePools.join(", ")} · {agent.addresses.join(", ")} · version {agent.version} · connected{" "}
          <Age time={agent.registeredTime} />
        </span>
        {agent.silent && <span className="label" title="The agent has stopped contacting the master. No new tasks start on it until it reconnects.">silent</span>}
        {agent.draining ? <span className="label">draining</span> : !agent.enabled && <span className="label">disabled</span>}
        {may("UPDATE_AGENTS") && (
          <div className="actions">
            {agent.enabled && !agent.draining ? (
              <button type="button" onClick={() => setAsks(true)}>
                Disable
              </button>
            ) : (
              <button type="button" onClick={() => void set("enable", false).catch((cause: unknown) => setProblem(toApiError(cause).message))}>
                Enable
              </button>
            )}
          </div>
        )}
      </div>
      <Problem text={problem} />
      <div className="slots">
        {slots.map((slot) => (
          <SlotBox key={slot.id} slot={slot} holder={used.get(`${agent.id}/${slot.id}`)} />
        ))}
      </div>
      {asks && <DisableDialog agent={agent} onDisable={(drain) => set("disable", drain)} onClose={() => setAsks(false)} />}
    </div>
  );
}

function SlotBox({ slot, holder }: { slot: Slot; holder: Holder | undefined }) {
  const what = `Slot ${slot.id}, ${slot.device.brand}: `;
  if (holder !== undefined)
    return (
      <Link to={holder.view} className="slot used" title={`${what}${holder.text}`}>
        {holder.brief}
      </Link>
    );
  const state = slot.enabled ? "free" : "disabled";
  return (
    <span className={`slot ${slot.enabled ? "" : "off"}`} title={`${what}${state}`}>
      {slot.id}
    </span>
  );
}

function DisableDialog(props: { agent: Agent; onDisable: (drain: boolean) => Promise<void>; onClose: () => void }) {
  const [drain, setDrain] = useState(true);
  return (
    <Dialog title={`Disable agent ${props.agent.id}?`} action="Disable" danger onAction={() => props.onDisable(drain)} onClose={props.onClose}>
      <p>No new tasks start on it.</p>
      <label className="check">
        <input type="checkbox" checked={drain} onChange={(event) => setDrain(event.target.checked)} /> Let running tasks finish. Otherwise they
        are stopped and continue on other agents.
      </label>
    </Dialog>
  );
}

const taskColumns: readonly Column<TaskSummary>[] = [
  {
    id: "name",
    title: "Task",
    value: ({ name }) => name,
    cell: (task) => {
      const subject = taskSubject(task);
      return subject ? <Link to={{ page: "trial", id: subject.trial, tab: "overview" }}>{task.name}</Link> : task.name;
    },
  },
  { id: "state", title: "State", value: ({ state }) => state, cell: ({ state }) => state.toLowerCase() },
  { id: "pool", title: "Pool", value: ({ resourcePool }) => resourcePool, cell: ({ resourcePool }) => resourcePool },
  { id: "slots", title: "Slots", number: true, value: ({ slotsNeeded }) => slotsNeeded, cell: ({ slotsNeeded }) => slotsNeeded },
  {
    id: "where",
    title: "Where",
    cell: ({ resources, waitingReason }) =>
      resources.length === 0 ? (
        <span className="quiet">{waitingReason}</span>
      ) : (
        resources.flatMap(({ agentDevices }) => Object.keys(agentDevices)).join(", ")
      ),
  },
  {
    id: "since",
    title: "Requested",
    value: ({ registeredTime }) => Date.parse(registeredTime),
    cell: ({ registeredTime }) => <Age time={registeredTime} />,
  },
];

function Tasks({ tasks }: { tasks: readonly TaskSummary[] }) {
  return (
    <Panel title="Tasks">
      <Table label="Tasks" rows={tasks} columns={taskColumns} rowKey={({ allocationId }) => allocationId} order="since" parameter="tasks-by" empty="No running or queued tasks." />
    </Panel>
  );
}
