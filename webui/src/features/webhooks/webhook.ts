/** Webhooks as the API has them and as people say it. Pure. */
import type { Delivery, Trigger } from "../../api/types";

/** In which an experiment can end. */
export const endStates = ["COMPLETED", "ERROR", "CANCELED"] as const;
export type EndState = (typeof endStates)[number];

/** What the form for a new one holds. */
export interface Draft {
  readonly name: string;
  readonly url: string;
  readonly slack: boolean;
  readonly states: readonly EndState[];
  /** Patterns, a line each. */
  readonly patterns: string;
  readonly alerts: boolean;
  readonly specific: boolean;
  /** 0: all. */
  readonly workspace: number;
}

export const emptyDraft: Draft = {
  name: "",
  url: "",
  slack: false,
  states: ["ERROR"],
  patterns: "",
  alerts: false,
  specific: false,
  workspace: 0,
};

/** The body of POST /api/v1/webhooks. */
export function requestOf(draft: Draft) {
  const patterns = draft.patterns.split("\n").filter((line) => line.trim() !== "");
  const triggers: Trigger[] = [
    ...draft.states.map((state) => ({ triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", condition: { state } })),
    ...patterns.map((regex) => ({ triggerType: "TRIGGER_TYPE_TASK_LOG", condition: { regex } })),
    ...(draft.alerts && draft.specific ? [{ triggerType: "TRIGGER_TYPE_CUSTOM", condition: {} }] : []),
  ];
  return {
    name: draft.name.trim(),
    url: draft.url.trim(),
    webhookType: draft.slack ? "WEBHOOK_TYPE_SLACK" : "WEBHOOK_TYPE_DEFAULT",
    mode: draft.specific ? "WEBHOOK_MODE_SPECIFIC" : "WEBHOOK_MODE_WORKSPACE",
    triggers,
    ...(draft.workspace === 0 ? {} : { workspaceId: draft.workspace }),
  };
}

/** Why it cannot be made yet; undefined: it can. */
export function missing(draft: Draft): string | undefined {
  if (draft.name.trim() === "") return "Enter a name.";
  if (!/^https?:\/\/\S+$/.test(draft.url.trim())) return "Enter a URL that starts with https:// or http://.";
  if (requestOf(draft).triggers.length === 0) return "Select at least one trigger.";
  return undefined;
}

/** When a trigger fires: "an experiment ends with error". */
export function triggerText({ triggerType, condition }: Trigger): string {
  switch (triggerType) {
    case "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE":
      return `Experiment becomes ${(condition?.state ?? "").toLowerCase()}`;
    case "TRIGGER_TYPE_TASK_LOG":
      return `Log line matches ${condition?.regex ?? ""}`;
    case "TRIGGER_TYPE_CUSTOM":
      return "Script raises an alert";
    default:
      return triggerType;
  }
}

/** What an experiment's configuration must have to be told of by a webhook of mode "specific". */
export function integration(name: string): string {
  return `integrations:\n  webhooks: {webhook_name: [${/^[\w-]+$/.test(name) ? name : JSON.stringify(name)}]}`;
}

/** Its state as a word, and how that looks. */
export const deliveryStates: Readonly<Record<Delivery["state"], readonly [word: string, tone: string]>> = {
  DELIVERY_STATE_WAITING: ["waiting", "waiting"],
  DELIVERY_STATE_DELIVERED: ["delivered", "good"],
  DELIVERY_STATE_GIVEN_UP: ["failed", "bad"],
};

/** What there is to say of a delivery beside its state. */
export function deliveryText({ state, attempts: made, outcome, nextAttempt }: Delivery, now: number): string {
  const attempts = Number(made);
  const tries = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  if (state === "DELIVERY_STATE_DELIVERED") return attempts === 1 ? "" : `after ${tries}`;
  if (attempts === 0) return "";
  const why = outcome === "" ? "" : `: ${outcome}`;
  if (state === "DELIVERY_STATE_GIVEN_UP") return `after ${tries}${why}`;
  const seconds = Math.ceil((Date.parse(nextAttempt ?? "") - now) / 1000);
  return `${tries} failed${why}; retrying ${seconds > 0 ? `in ${seconds} s` : "now"}`;
}
