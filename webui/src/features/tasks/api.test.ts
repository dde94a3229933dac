import { expect, test } from "vitest";
import { canOpen, taskWish } from "./api";

const owner = { id: 4, admin: false };
const other = { id: 5, admin: false };
const admin = { id: 1, admin: true };
const running = { userId: 4, state: "STATE_RUNNING", isReady: true } as const;

test.each([
  ["its owner opens a shell", { ...running, type: "shell" }, owner, true],
  ["another user does not: it acts as its owner", { ...running, type: "shell" }, other, false],
  ["nor a notebook", { ...running, type: "notebook" }, other, false],
  ["an administrator does", { ...running, type: "shell" }, admin, true],
  ["a TensorBoard is for all", { ...running, type: "tensorboard" }, other, true],
  ["a command has nothing to open", { ...running, type: "command" }, owner, false],
  ["what is not ready is not open yet", { ...running, type: "shell", isReady: false }, owner, false],
  ["what is over is open no more", { ...running, type: "shell", state: "STATE_TERMINATED" }, owner, false],
] as const)("%s", (_, task, me, opens) => {
  expect(canOpen(task, me)).toBe(opens);
});

test("what a new task shall be is asked for in its workspace; what is left empty is not", () => {
  expect(taskWish({ description: "  ", slots: 0, template: "", pool: "", workspace: 7 })).toEqual({ workspaceId: 7, config: { resources: { slots: 0 } } });
  expect(taskWish({ description: " look ", slots: 2, template: "gpu", pool: "large", workspace: 1 })).toEqual({
    workspaceId: 1,
    templateName: "gpu",
    config: { description: "look", resources: { slots: 2, resource_pool: "large" } },
  });
});
