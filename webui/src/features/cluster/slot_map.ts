/** All slots of the cluster at a glance: who uses what. Pure. */

import type { Agent, Job, TaskSummary } from "../../api/types";
import { agentSlots, taskSubject } from "./usage";

export const colourings = ["user", "job"] as const;
/** What has a colour. */
export type Colouring = (typeof colourings)[number];

export interface Cell {
  readonly slot: string;
  readonly use: "free" | "disabled" | "used";
  /** Whose colour it has, where it is used: an index of the legend. */
  readonly owner: number;
  readonly text: string;
}

export interface AgentCells {
  readonly id: string;
  readonly pool: string;
  readonly cells: readonly Cell[];
  /** "2 of 4 slots used: ann 2". */
  readonly text: string;
}

export interface SlotMap {
  readonly agents: readonly AgentCells[];
  /** Those who use slots, the one with the most first. */
  readonly owners: readonly { readonly name: string; readonly slots: number }[];
  readonly free: number;
  readonly disabled: number;
}

/** The job of a task: that of its experiment, or its own. */
function jobOf(task: TaskSummary, jobs: ReadonlyMap<string, Job>): Job | undefined {
  const subject = taskSubject(task);
  return jobs.get(subject === undefined ? task.taskId : String(subject.experiment));
}

export function slotMap(agents: readonly Agent[], tasks: readonly TaskSummary[], jobs: readonly Job[], by: Colouring): SlotMap {
  const byEntity = new Map(jobs.map((job) => [job.entityId, job]));
  const owners = new Map<string, string>(); // by "agent/slot"
  const slots = new Map<string, number>();
  const tasksOf = new Map<string, string>();
  for (const task of tasks) {
    const job = jobOf(task, byEntity);
    const owner = by === "user" ? (job?.username ?? "unknown") : (job?.name ?? task.name);
    for (const { agentDevices } of task.resources)
      for (const [agent, { devices }] of Object.entries(agentDevices))
        for (const { id } of devices) {
          owners.set(`${agent}/${id}`, owner);
          tasksOf.set(`${agent}/${id}`, task.name);
          slots.set(owner, (slots.get(owner) ?? 0) + 1);
        }
  }
  const legend = [...slots].map(([name, count]) => ({ name, slots: count })).sort((a, b) => b.slots - a.slots || a.name.localeCompare(b.name));
  const places = new Map(legend.map(({ name }, index) => [name, index]));
  let [free, disabled] = [0, 0];
  const rows = agents.map((agent): AgentCells => {
    const cells = agentSlots(agent).map(({ id, enabled }): Cell => {
      const owner = owners.get(`${agent.id}/${id}`);
      if (owner !== undefined) return { slot: id, use: "used", owner: places.get(owner) ?? 0, text: `Slot ${id}: ${owner}, ${tasksOf.get(`${agent.id}/${id}`)}` };
      const open = enabled && agent.enabled && !agent.draining;
      if (open) free += 1;
      else disabled += 1;
      return { slot: id, use: open ? "free" : "disabled", owner: -1, text: `Slot ${id}: ${open ? "free" : "disabled"}` };
    });
    const counts = new Map<number, number>();
    for (const { owner } of cells) if (owner >= 0) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    const used = cells.filter(({ use }) => use === "used").length;
    const who = [...counts].sort(([a], [b]) => a - b).map(([owner, n]) => `${legend[owner]?.name} ${n}`);
    return { id: agent.id, pool: agent.resourcePools.join(", "), cells, text: `${used} of ${cells.length} slots used${who.length > 0 ? `: ${who.join(", ")}` : ""}` };
  });
  return { agents: rows, owners: legend, free, disabled };
}
