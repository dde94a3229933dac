/** What the audit log is asked, and how its entries read. Pure. */

import type { Query as Question } from "../../api/client";
import type { AuditEntry as Entry } from "../../api/types";
import type { Query, View } from "../../components/address/paths";

export const pageSize = 100;

/** The cursors of the pages that one has turned: the last is this page's. */
export function cursorsOf({ before }: Query): string[] {
  return (before ?? "")
    .split(",")
    .filter((text) => /^\d{1,15}$/.test(text));
}

/** The question behind an address; one entry more than a page, to know whether there is another page. */
export function auditParameters(query: Query): Question<"/api/v1/audit"> {
  const beforeId = cursorsOf(query).at(-1);
  const time = (name: "since" | "until", parameter: string) =>
    Number.isNaN(Date.parse(query[name] ?? "")) ? {} : { [parameter]: new Date(Date.parse(query[name] ?? "")).toISOString() };
  return {
    limit: pageSize + 1,
    ...(query.user ? { username: query.user } : {}),
    ...(query.search ? { text: query.search } : {}),
    ...(query.refused ? { refused: true } : {}),
    ...time("since", "after"),
    ...time("until", "before"),
    ...(beforeId === undefined ? {} : { beforeId }),
  };
}

/** The method and the path that was called. */
export function callOf({ operation, path }: Pick<Entry, "operation" | "path">): string {
  return `${operation.split(" ")[0] ?? ""} ${path}`;
}

/** What it was about, each with its page, where there is one: "experiment 1, project 4". */
export function aboutParts(about: string): { readonly text: string; readonly view: View | undefined }[] {
  return about === "" ? [] : about.split(", ").map((text) => ({ text, view: viewOf(text) }));
}

/** The page of one thing, where there is one. */
export function viewOf(about: string): View | undefined {
  const found = /^(experiment|trial|workspace|project) (\d+)$/.exec(about);
  const id = Number(found?.[2]);
  switch (found?.[1]) {
    case "experiment":
    case "trial":
      return { page: found[1], id, tab: "overview" };
    case "workspace":
      return { page: "workspace", id, tab: "projects" };
    case "project":
      return { page: "project", id, tab: "experiments" };
    default:
      return undefined;
  }
}

/** An answer in words. */
export function outcomeOf(status: number): string {
  if (status < 400) return "done";
  const words: Readonly<Record<number, string>> = { 401: "not authenticated", 403: "permission denied", 404: "not found", 409: "conflict", 429: "rate limited" };
  return words[status] ?? (status < 500 ? "rejected" : "failed");
}
