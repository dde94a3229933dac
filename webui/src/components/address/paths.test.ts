import { expect, test } from "vitest";
import { parseQuery, parseView, pathOf, queryText, titleOf, type View } from "./paths";

const views: readonly (readonly [string, View])[] = [
  ["/det/", { page: "dashboard" }],
  ["/det/experiments", { page: "experiments" }],
  ["/det/experiments/1", { page: "experiment", id: 1, tab: "overview" }],
  ["/det/experiments/1/configuration", { page: "experiment", id: 1, tab: "configuration" }],
  ["/det/experiments/1/trials", { page: "experiment", id: 1, tab: "trials" }],
  ["/det/trials/7", { page: "trial", id: 7, tab: "overview" }],
  ["/det/trials/7/logs", { page: "trial", id: 7, tab: "logs" }],
  ["/det/trials/7/profile", { page: "trial", id: 7, tab: "profile" }],
  ["/det/compare", { page: "compare" }],
  ["/det/cluster", { page: "cluster", tab: "overview" }],
  ["/det/cluster/logs", { page: "cluster", tab: "logs" }],
  ["/det/cluster/usage", { page: "cluster", tab: "usage" }],
  ["/det/cluster/policies", { page: "cluster", tab: "policies" }],
  ["/det/workspaces", { page: "workspaces" }],
  ["/det/workspaces/3", { page: "workspace", id: 3, tab: "projects" }],
  ["/det/workspaces/3/members", { page: "workspace", id: 3, tab: "members" }],
  ["/det/workspaces/3/policies", { page: "workspace", id: 3, tab: "policies" }],
  ["/det/projects/4", { page: "project", id: 4, tab: "experiments" }],
  ["/det/projects/4/notes", { page: "project", id: 4, tab: "notes" }],
  ["/det/webhooks", { page: "webhooks" }],
  ["/det/audit", { page: "audit" }],
  ["/det/queue", { page: "queue" }],
  ["/det/tasks", { page: "tasks" }],
  ["/det/tasks/notebook/5f0c", { page: "task", kind: "notebook", id: "5f0c" }],
  ["/det/tasks/shell/5f0c", { page: "task", kind: "shell", id: "5f0c" }],
  ["/det/tasks/shell/5f0c/terminal", { page: "terminal", id: "5f0c" }],
  ["/det/models", { page: "models" }],
  ["/det/models/a%2Fb%20c", { page: "model", name: "a/b c" }],
  ["/det/templates", { page: "templates" }],
  ["/det/templates/small%20gpu", { page: "template", name: "small gpu" }],
  ["/det/users", { page: "users", tab: "users" }],
  ["/det/users/groups", { page: "users", tab: "groups" }],
  ["/det/users/tokens", { page: "users", tab: "tokens" }],
  ["/det/settings", { page: "settings" }],
  ["/det/api", { page: "api" }],
  ["/det/design", { page: "design" }],
];

test.each(views)("%s is a view and back", (address, view) => {
  expect(parseView(address)).toEqual(view);
  expect(pathOf(view)).toBe(address);
  expect(titleOf(view)).not.toBe("");
});

test.each([
  ["/det", "/det/"],
  ["/det/dashboard", "/det/"],
  ["/det/experiments/", "/det/experiments"],
  ["/det/experiments/3/overview", "/det/experiments/3"],
  ["/det/experiments/3/trials/9", "/det/trials/9"],
  ["/det/jobs", "/det/queue"],
  ["/det/workspaces/3/projects", "/det/workspaces/3"],
  ["/det/projects/4/experiments", "/det/projects/4"],
])("%s means %s", (address, expected) => {
  expect(pathOf(parseView(address))).toBe(expected);
});

test.each([
  "/det/other",
  "/detective",
  "/det/experiments/x",
  "/det/users/nobody",
  "/det/experiments/0",
  "/det/trials",
  "/det/trials/1/other",
  "/det/experiments/1.5",
  "/det/models/%E0%A4%A",
  "/det/cluster/other",
  "/det/projects",
  "/det/projects/1/other",
  "/det/workspaces/0",
  "/det/workspaces/1/settings",
  "/det/tasks/notebook/5f0c/terminal",
  "/det/tasks/shell/5f0c/other",
  "/det/a/b/c/d/e",
])("%s is unknown", (address) => {
  expect(parseView(address).page).toBe("unknown");
});

test("a query holds what is not empty, in any characters, and back", () => {
  const query = { search: "a b&c=ü", state: "", sort: "id" };
  expect(queryText(query)).toBe("?search=a+b%26c%3D%C3%BC&sort=id");
  expect(parseQuery(queryText(query))).toEqual({ search: "a b&c=ü", sort: "id" });
  expect(queryText({})).toBe("");
});
