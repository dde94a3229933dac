/** Who uses which slot: pure. */

import type { Agent, Slot, TaskSummary } from "../../api/types";
import type { View } from "../../components/address/paths";

/** "agent/slot". */
export type SlotRef = `${string}/${string}`;

export interface Holder {
  readonly text: string;
  /** For a box of a few letters. */
  readonly brief: string;
  readonly view: View;
}

/** The trial and the experiment that a task's name tells of. */
export function taskSubject({ name }: Pick<TaskSummary, "name">): { trial: number; experiment: number } | undefined {
  const found = /^Trial (\d+) \(Experiment (\d+)\)$/.exec(name);
  return found ? { trial: Number(found[1]), experiment: Number(found[2]) } : undefined;
}

/** For each slot in use, what uses it. */
export function holders(tasks: readonly TaskSummary[]): Map<SlotRef, Holder> {
  const used = new Map<SlotRef, Holder>();
  for (const task of tasks) {
    const subject = taskSubject(task);
    const holder: Holder = {
      text: task.name,
      brief: subject ? `t${subject.trial}` : "task",
      view: subject ? { page: "trial", id: subject.trial, tab: "overview" } : { page: "cluster", tab: "overview" },
    };
    for (const { agentDevices } of task.resources)
      for (const [agent, { devices }] of Object.entries(agentDevices))
        for (const { id } of devices) used.set(`${agent}/${id}`, holder);
  }
  return used;
}

/** An agent's slots in the order of their numbers. */
export function agentSlots({ slots }: Pick<Agent, "slots">): Slot[] {
  return Object.values(slots).sort((a, b) => Number(a.id) - Number(b.id));
}
