import { get, post } from "../../api/client";
import type { User } from "../../api/types";
import { kindName, type TaskKind, taskKinds } from "../../components/address/paths";

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
  readonly workspaceId: number;
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

/** Where a task is and whose, for what may be done to it. */
export const placeOf = ({ workspaceId, userId }: Pick<Task, "workspaceId" | "userId">) => ({ workspace: workspaceId, owners: [userId] });
export const isOver = ({ state }: Pick<Task, "state">): boolean => state === "STATE_TERMINATED";
/** Who opens a notebook or a shell acts as its owner; a TensorBoard may be looked at by all who see it. */
export const mayUse = (task: Pick<Task, "type" | "userId">, me: Pick<User, "id" | "admin">): boolean =>
  task.type === "tensorboard" || task.userId === me.id || me.admin;
/** It serves a page or a terminal, which is there now and for this user. */
export const canOpen = (task: Pick<Task, "type" | "userId" | "state" | "isReady">, me: Pick<User, "id" | "admin">): boolean =>
  task.isReady && !isOver(task) && task.type !== "command" && mayUse(task, me);

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

/** What the master is asked to start. */
export interface TaskWish {
  readonly workspaceId: number;
  readonly config?: object;
  readonly templateName?: string;
  readonly experimentIds?: readonly number[];
  readonly trialIds?: readonly number[];
}

interface Choices {
  readonly description: string;
  readonly slots: number;
  /** Empty: none, or the usual one. */
  readonly template: string;
  readonly pool: string;
  readonly workspace: number;
}

/** What is chosen in the dialog, as the API has it: what is left empty is the template's, or the cluster's, to say. */
export function taskWish({ description, slots, template, pool, workspace }: Choices): TaskWish {
  const named = description.trim();
  return {
    workspaceId: workspace,
    ...(template === "" ? {} : { templateName: template }),
    config: { ...(named === "" ? {} : { description: named }), resources: { slots, ...(pool === "" ? {} : { resource_pool: pool }) } },
  };
}

export async function templateNames(signal: AbortSignal): Promise<readonly string[]> {
  const { templates } = await get<{ templates: readonly { readonly name: string }[] }>("templates", {}, signal);
  return templates.map(({ name }) => name);
}

/** The resource pools that a workspace may use. */
export async function poolNames(workspace: number, signal: AbortSignal): Promise<readonly string[]> {
  const reply = await get<{ resourcePools: readonly string[] }>(`workspaces/${workspace}/available-resource-pools`, {}, signal);
  return reply.resourcePools;
}

/** Starts one; its id. */
export async function startTask(kind: TaskKind, wish: TaskWish): Promise<string> {
  const reply = await post<Record<string, Task>>(`${kind}s`, wish);
  const task = reply[kind];
  if (task === undefined) throw new Error(`the master's answer has no ${kindName(kind)}`);
  return task.id;
}
