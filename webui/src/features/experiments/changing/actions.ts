/** What a user may do with an experiment in some state. */

import type { Experiment } from "../../../api/types";
import { isTerminal, stateName } from "../../../components/format";
import type { Permission, Rights, Subject as Place } from "../../../components/people/rights";

export const actionNames = ["pause", "activate", "cancel", "kill", "archive", "unarchive", "delete"] as const;
export type Action = (typeof actionNames)[number];

type Subject = Pick<Experiment, "state" | "archived" | "workspaceId" | "userId"> & Partial<Pick<Experiment, "unmanaged">>;
type May = Rights["may"];

/** What the master asks for. */
const needed: Readonly<Record<Action, Permission>> = {
  pause: "UPDATE_EXPERIMENT",
  activate: "UPDATE_EXPERIMENT",
  cancel: "UPDATE_EXPERIMENT",
  kill: "UPDATE_EXPERIMENT",
  archive: "UPDATE_EXPERIMENT_METADATA",
  unarchive: "UPDATE_EXPERIMENT_METADATA",
  delete: "DELETE_EXPERIMENT",
};

/** Where an experiment is and whose, for what may be done to it. */
export const placeOf = ({ workspaceId, userId }: Pick<Experiment, "workspaceId" | "userId">): Place => ({ workspace: workspaceId, owners: [userId] });

/** Why the action cannot be done with the experiment, whoever asks; undefined: it can. */
function stateObstacle(action: Action, { state, archived, unmanaged }: Subject): string | undefined {
  const is = `is ${stateName(state)}`;
  const over = isTerminal(state);
  const stopping = state.startsWith("STATE_STOPPING") || state === "STATE_DELETING";
  if (unmanaged && (action === "pause" || action === "activate" || action === "cancel" || action === "kill")) return "runs outside the cluster";
  switch (action) {
    case "pause":
      return over || stopping || state === "STATE_PAUSED" ? is : undefined;
    case "activate":
      return state === "STATE_PAUSED" ? undefined : is;
    case "cancel":
      return over || stopping ? is : undefined;
    case "kill":
      return over || state === "STATE_DELETING" ? is : undefined;
    case "archive":
      return !over ? `${is}, not finished` : archived ? "is already archived" : undefined;
    case "unarchive":
      return archived ? undefined : "is not archived";
    case "delete":
      return over ? undefined : `${is}, not finished`;
  }
}

/** Why the reader cannot do this with the experiment; undefined: she can. */
export function obstacle(action: Action, subject: Subject, may: May): string | undefined {
  return stateObstacle(action, subject) ?? (may(needed[action], placeOf(subject)) ? undefined : "requires a permission that you do not have");
}

export function actions(subject: Subject, may: May): Action[] {
  return actionNames.filter((action) => obstacle(action, subject, may) === undefined);
}

/** What the action does, for those who are about to do it. */
export const explanations: Readonly<Record<Action, string>> = {
  pause: "Save checkpoints and release the slots until activated",
  activate: "Resume from the last checkpoints",
  cancel: "Save checkpoints, then stop",
  kill: "Stop immediately without saving",
  archive: "Hide from lists without deleting anything",
  unarchive: "Show in lists again",
  delete: "Permanently delete the experiment with its metrics, logs, and checkpoints",
};

/** How the action reads when it was done. */
export const done: Readonly<Record<Action, string>> = {
  pause: "paused",
  activate: "activated",
  cancel: "canceled",
  kill: "killed",
  archive: "archived",
  unarchive: "unarchived",
  delete: "deleted",
};

export const isDangerous = (action: Action): boolean => action === "kill" || action === "delete" || action === "cancel";

export interface Plan<T> {
  readonly acts: readonly T[];
  readonly leaves: readonly { readonly item: T; readonly why: string }[];
}

/** Which of the chosen experiments move into the project. 0, none yet, takes all. */
export function planMove<T extends Pick<Experiment, "projectId" | "projectName" | "state" | "workspaceId" | "userId">>(
  project: number,
  chosen: readonly T[],
  may: May,
): Plan<T> {
  const acts: T[] = [];
  const leaves: { item: T; why: string }[] = [];
  for (const item of chosen) {
    if (item.projectId === project) leaves.push({ item, why: `is already in ${item.projectName}` });
    else if (item.state === "STATE_DELETING") leaves.push({ item, why: "is being deleted" });
    else if (!may("UPDATE_EXPERIMENT", placeOf(item))) leaves.push({ item, why: "requires a permission that you do not have" });
    else acts.push(item);
  }
  return { acts, leaves };
}

/** Which of the chosen experiments the action is for, and why not the others. */
export function plan<T extends Subject>(action: Action, chosen: readonly T[], may: May): Plan<T> {
  const acts: T[] = [];
  const leaves: { item: T; why: string }[] = [];
  for (const item of chosen) {
    const why = obstacle(action, item, may);
    if (why === undefined) acts.push(item);
    else leaves.push({ item, why });
  }
  return { acts, leaves };
}
