import { expect, test } from "vitest";
import { type Draft, emptyDraft, integration, missing, requestOf, triggerText } from "./webhook";

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
  [{ name: " " }, /needs a name/],
  [{ url: "example.com" }, /begins with https/],
  [{ states: [], patterns: "\n " }, /never fire/],
  [{ states: [], patterns: "x" }, undefined],
  [{ states: [], alerts: true, specific: true }, undefined],
])("with %j it lacks %s", (some, expected) => {
  const lacks = missing(draft(some));
  if (expected === undefined) expect(lacks).toBeUndefined();
  else expect(lacks).toMatch(expected);
});

test("triggers read as sentences, also those of a newer master", () => {
  expect(triggerText({ triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", condition: { state: "ERROR" } })).toBe("an experiment becomes error");
  expect(triggerText({ triggerType: "TRIGGER_TYPE_TASK_LOG", condition: { regex: "a|b" } })).toBe("a log line fits a|b");
  expect(triggerText({ triggerType: "TRIGGER_TYPE_CUSTOM", condition: {} })).toBe("a script raises an alert");
  expect(triggerText({ triggerType: "TRIGGER_TYPE_MOON" })).toBe("TRIGGER_TYPE_MOON");
});

test("a name with signs that YAML knows is quoted", () => {
  expect(integration("team")).toContain("[team]");
  expect(integration("a, b: c")).toContain('["a, b: c"]');
});
