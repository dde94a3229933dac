import { expect, test } from "vitest";
import type { Delivery } from "../../api/types";
import { deliveryText, type Draft, emptyDraft, integration, missing, requestOf, triggerText } from "./webhook";

const draft = (some: Partial<Draft>): Draft => ({ ...emptyDraft, name: "team", url: "https://example.com/h", ...some });

test("a form becomes one trigger for each state, each line of patterns, and alerts", () => {
  const request = requestOf(
    draft({ name: " team ", slack: true, specific: true, alerts: true, states: ["COMPLETED", "ERROR"], patterns: "oom\n\n NCCL.*error\n", workspace: 3 }),
  );
  expect(request).toEqual({
    name: "team",
    url: "https://example.com/h",
    webhookType: "WEBHOOK_TYPE_SLACK",
    mode: "WEBHOOK_MODE_SPECIFIC",
    workspaceId: 3,
    triggers: [
      { triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", condition: { state: "COMPLETED" } },
      { triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", condition: { state: "ERROR" } },
      { triggerType: "TRIGGER_TYPE_TASK_LOG", condition: { regex: "oom" } },
      { triggerType: "TRIGGER_TYPE_TASK_LOG", condition: { regex: " NCCL.*error" } },
      { triggerType: "TRIGGER_TYPE_CUSTOM", condition: {} },
    ],
  });
});

test("alerts are for webhooks that experiments name", () => {
  expect(requestOf(draft({ alerts: true, states: [] })).triggers).toEqual([]);
  expect(requestOf(draft({}))).not.toHaveProperty("workspaceId");
});

test.each<[Partial<Draft>, RegExp | undefined]>([
  [{}, undefined],
  [{ name: " " }, /Enter a name/],
  [{ url: "example.com" }, /starts with https/],
  [{ states: [], patterns: "\n " }, /at least one trigger/],
  [{ states: [], patterns: "x" }, undefined],
  [{ states: [], alerts: true, specific: true }, undefined],
])("with %j it lacks %s", (some, expected) => {
  const lacks = missing(draft(some));
  if (expected === undefined) expect(lacks).toBeUndefined();
  else expect(lacks).toMatch(expected);
});

test("triggers read as sentences, also those of a newer master", () => {
  expect(triggerText({ triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", condition: { state: "ERROR" } })).toBe("Experiment becomes error");
  expect(triggerText({ triggerType: "TRIGGER_TYPE_TASK_LOG", condition: { regex: "a|b" } })).toBe("Log line matches a|b");
  expect(triggerText({ triggerType: "TRIGGER_TYPE_CUSTOM", condition: {} })).toBe("Script raises an alert");
  expect(triggerText({ triggerType: "TRIGGER_TYPE_MOON" })).toBe("TRIGGER_TYPE_MOON");
});

test("a name with signs that YAML knows is quoted", () => {
  expect(integration("team")).toContain("[team]");
  expect(integration("a, b: c")).toContain('["a, b: c"]');
});

test.each<[Partial<Delivery>, string]>([
  [{ state: "DELIVERY_STATE_DELIVERED", attempts: "1", outcome: "it answered with status 200" }, ""],
  [{ state: "DELIVERY_STATE_DELIVERED", attempts: "3" }, "after 3 attempts"],
  [{ state: "DELIVERY_STATE_GIVEN_UP", attempts: "1", outcome: "it answered with status 410" }, "after 1 attempt: it answered with status 410"],
  [{ attempts: "0" }, ""],
  [{ attempts: "2", outcome: "it answered with status 503" }, "2 attempts failed: it answered with status 503; retrying in 4 s"],
  [{ attempts: "2", nextAttempt: "2026-01-02T03:04:00Z" }, "2 attempts failed; retrying now"],
])("of a delivery %o is said: %s", (some, text) => {
  const delivery: Delivery = {
    eventId: "e",
    event: "",
    state: "DELIVERY_STATE_WAITING",
    creationTime: "2026-01-02T03:04:00Z",
    attempts: "0",
    outcome: "",
    nextAttempt: "2026-01-02T03:04:04Z",
    ...some,
  };
  expect(deliveryText(delivery, Date.parse("2026-01-02T03:04:00.5Z"))).toBe(text);
});
