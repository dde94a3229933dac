/** The address of each view. A page's address is its whole state. */

export const mount = "/det";

export type ExperimentTab = "overview" | "configuration" | "logs";
export type TrialTab = "overview" | "environment" | "logs";

export type View =
  | { readonly page: "experiments"; readonly search: string; readonly state: string }
  | { readonly page: "experiment"; readonly id: number; readonly tab: ExperimentTab }
  | { readonly page: "trial"; readonly id: number; readonly tab: TrialTab }
  | { readonly page: "unknown"; readonly path: string };

const experimentTabs: readonly string[] = ["overview", "configuration", "logs"];
const trialTabs: readonly string[] = ["overview", "environment", "logs"];

/** What an address shows. The original's addresses are understood, too. */
export function parseView(path: string, query: string): View {
  const unknown: View = { page: "unknown", path };
  const [first, second, third, fourth, ...more] = path.replace(/^\/det/, "").split("/").filter((part) => part !== "");
  if (more.length > 0) return unknown;
  if (first === undefined || (first === "experiments" && second === undefined)) {
    const parameters = new URLSearchParams(query);
    return { page: "experiments", search: parameters.get("search") ?? "", state: parameters.get("state") ?? "" };
  }
  const id = Number(second);
  if (!Number.isSafeInteger(id) || id < 1) return unknown;
  // /det/experiments/1/trials/2 is how the original names a trial.
  if (first === "experiments" && third === "trials" && fourth !== undefined) return parseView(`/trials/${fourth}`, "");
  if (fourth !== undefined) return unknown;
  const tab = third ?? "overview";
  if (first === "experiments" && tab === "trials") return { page: "experiment", id, tab: "overview" };
  if (first === "experiments" && experimentTabs.includes(tab))
    return { page: "experiment", id, tab: tab as ExperimentTab };
  if (first === "trials" && trialTabs.includes(tab)) return { page: "trial", id, tab: tab as TrialTab };
  return unknown;
}

export function pathOf(view: View): string {
  const tab = (name: string) => (name === "overview" ? "" : `/${name}`);
  switch (view.page) {
    case "experiments": {
      const query = new URLSearchParams();
      if (view.search !== "") query.set("search", view.search);
      if (view.state !== "") query.set("state", view.state);
      const text = query.toString();
      return `${mount}/experiments${text === "" ? "" : `?${text}`}`;
    }
    case "experiment":
      return `${mount}/experiments/${view.id}${tab(view.tab)}`;
    case "trial":
      return `${mount}/trials/${view.id}${tab(view.tab)}`;
    case "unknown":
      return view.path;
  }
}
