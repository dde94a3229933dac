import { expect, test } from "vitest";
import { canOpen } from "./api";

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
