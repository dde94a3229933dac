import { expect, test } from "vitest";
import { parseView, pathOf, type View } from "./paths";

const views: readonly (readonly [string, View])[] = [
  ["/det/experiments", { page: "experiments", search: "", state: "" }],
  ["/det/experiments?search=a+b&state=PAUSED", { page: "experiments", search: "a b", state: "PAUSED" }],
  ["/det/experiments/1", { page: "experiment", id: 1, tab: "overview" }],
  ["/det/experiments/1/configuration", { page: "experiment", id: 1, tab: "configuration" }],
  ["/det/experiments/1/logs", { page: "experiment", id: 1, tab: "logs" }],
  ["/det/trials/7", { page: "trial", id: 7, tab: "overview" }],
  ["/det/trials/7/logs", { page: "trial", id: 7, tab: "logs" }],
];

test.each(views)("%s is a view and back", (address, view) => {
  const url = new URL(address, "http://h");
  expect(parseView(url.pathname, url.search)).toEqual(view);
  expect(pathOf(view)).toBe(address);
});

test.each([
  ["/det", "/det/experiments"],
  ["/det/", "/det/experiments"],
  ["/det/experiments/", "/det/experiments"],
  ["/det/experiments/3/overview", "/det/experiments/3"],
  ["/det/experiments/3/trials", "/det/experiments/3"],
  ["/det/experiments/3/trials/9", "/det/trials/9"],
])("%s means %s", (address, expected) => {
  expect(pathOf(parseView(address, ""))).toBe(expected);
});

test.each(["/det/other", "/det/experiments/x", "/det/experiments/0", "/det/trials", "/det/trials/1/other", "/det/experiments/1.5"])(
  "%s is unknown",
  (address) => {
    expect(parseView(address, "").page).toBe("unknown");
  },
);
