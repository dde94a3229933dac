import { get, post } from "../../api/client";
import { kindName, type TaskKind, taskKinds } from "../../components/paths";

/** A command, notebook, shell or TensorBoard. */
export interface Task {
  readonly id: string;
  readonly type: TaskKind;
  readonly description: string;
  readonly state: string;
  readonly startTime: string;
  readonly endTime?: string;
  readonly username: string;
  readonly userId: number;
  readonly resourcePool: string;
  readonly slots: number;
  readonly exitStatus: string;
  readonly exitCode?: number;
  readonly waitingReason: string;
  /** Where the master hands requests on to it; of all but commands. */
  readonly serviceAddress?: string;
  readonly isReady: boolean;
  readonly experimentIds?: readonly number[];
  readonly trialIds?: readonly number[];
}

export const isOver = ({ state }: Task): boolean => state === "STATE_TERMINATED";
/** It has a page of its own, and that page is there now. Shells are opened in a terminal. */
export const hasPage = (task: Task): boolean => task.isReady && !isOver(task) && (task.type === "notebook" || task.type === "tensorboard");

export async function loadTasks(signal: AbortSignal): Promise<readonly Task[]> {
  const lists = await Promise.all(
    taskKinds.map(async (kind) => (await get<Record<string, readonly Task[]>>(`${kind}s`, {}, signal))[`${kind}s`] ?? []),
  );
  return lists.flat();
}

export async function loadTask(kind: TaskKind, id: string, signal: AbortSignal): Promise<Task> {
  const reply = await get<Record<string, Task>>(`${kind}s/${encodeURIComponent(id)}`, {}, signal);
  const task = reply[kind];
  if (task === undefined) throw new Error(`the master's answer has no ${kind}`);
  return task;
}

export const killTask = ({ type, id }: Task): Promise<unknown> => post(`${type}s/${encodeURIComponent(id)}/kill`);

/** Starts one; its id. */
export async function startTask(kind: TaskKind, wish: { config?: object; experimentIds?: readonly number[]; trialIds?: readonly number[] }): Promise<string> {
  const reply = await post<Record<string, Task>>(`${kind}s`, wish);
  const task = reply[kind];
  if (task === undefined) throw new Error(`the master's answer has no ${kindName(kind)}`);
  return task.id;
}
