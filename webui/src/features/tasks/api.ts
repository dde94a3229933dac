import { get, post, type Sent } from "../../api/client";
import type { LaunchedTask, User } from "../../api/types";
import { kindName, type TaskKind, taskKinds } from "../../components/address/paths";

/** A command, notebook, shell or TensorBoard: `serviceAddress` is where the master hands requests on to all but commands. */
export type Task = LaunchedTask & { readonly type: TaskKind };

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
  const lists = await Promise.all(taskKinds.map(async (kind) => (await get(`/api/v1/${kind}s`, {}, signal))[`${kind}s`] ?? []));
  return lists.flat() as readonly Task[];
}

export async function loadTask(kind: TaskKind, id: string, signal: AbortSignal): Promise<Task> {
  const task = (await get(`/api/v1/${kind}s/{taskId}`, { path: { taskId: id } }, signal))[kind];
  if (task === undefined) throw new Error(`the master's reply has no ${kindName(kind)}`);
  return task as Task;
}

export const killTask = ({ type, id }: Task): Promise<unknown> => post(`/api/v1/${type}s/{taskId}/kill`, { path: { taskId: id } });

/** What the master is asked to start. */
export type TaskWish = Sent<"post", "/api/v1/notebooks">["body"];

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
  const { templates } = await get("/api/v1/templates", {}, signal);
  return templates.map(({ name }) => name);
}

/** The resource pools that a workspace may use. */
export async function poolNames(workspace: number, signal: AbortSignal): Promise<readonly string[]> {
  const reply = await get("/api/v1/workspaces/{workspaceId}/available-resource-pools", { path: { workspaceId: workspace } }, signal);
  return reply.resourcePools;
}

/** Starts one; its id. */
export async function startTask(kind: TaskKind, wish: TaskWish): Promise<string> {
  const task = (await post(`/api/v1/${kind}s`, { body: wish }))[kind];
  if (task === undefined) throw new Error(`the master's reply has no ${kindName(kind)}`);
  return task.id;
}
