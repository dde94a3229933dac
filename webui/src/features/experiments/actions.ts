/** What a user may do with an experiment in some state. */

import { isTerminal } from "../../components/format";

export type Action = "pause" | "activate" | "cancel" | "kill";

export function actions(state: string): Action[] {
  if (isTerminal(state) || state === "STATE_DELETING") return [];
  if (state.startsWith("STATE_STOPPING")) return ["kill"];
  return state === "STATE_PAUSED" ? ["activate", "cancel", "kill"] : ["pause", "cancel", "kill"];
}

/** What the button does, for those who hover over it. */
export const explanations: Readonly<Record<Action, string>> = {
  pause: "Save checkpoints, give the slots back, and wait",
  activate: "Go on from the last checkpoints",
  cancel: "Save checkpoints, then end",
  kill: "End at once, without saving",
};
