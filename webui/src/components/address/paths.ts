/** The address of each view. A page's address is its whole state: the path says which page, the query how it looks. */

export const mount = "/det";

export const experimentTabs = ["overview", "search", "trials", "checkpoints", "configuration", "code", "notes", "logs"] as const;
export const trialTabs = ["overview", "media", "hyperparameters", "workloads", "checkpoints", "runs", "profile", "environment", "logs"] as const;
export const clusterTabs = ["overview", "usage", "policies", "logs"] as const;
/** Of these the first is what the plain address shows. */
export const userTabs = ["users", "groups", "tokens"] as const;
export const workspaceTabs = ["projects", "members", "policies"] as const;
export const projectTabs = ["experiments", "notes"] as const;

export type ExperimentTab = (typeof experimentTabs)[number];
export type TrialTab = (typeof trialTabs)[number];
export type ClusterTab = (typeof clusterTabs)[number];
export type UserTab = (typeof userTabs)[number];
export type WorkspaceTab = (typeof workspaceTabs)[number];
export type ProjectTab = (typeof projectTabs)[number];

/** Pages without anything behind their name. */
const plain = [
  "dashboard",
  "experiments",
  "compare",
  "workspaces",
  "queue",
  "tasks",
  "models",
  "templates",
  "webhooks",
  "audit",
  "settings",
  "api",
  "design",
] as const;
/** The kinds of tasks that are no trials. */
export const taskKinds = ["notebook", "tensorboard", "shell", "command"] as const;
export type TaskKind = (typeof taskKinds)[number];

export type PlainPage = (typeof plain)[number];

export type View =
  | { readonly page: PlainPage }
  | { readonly page: "experiment"; readonly id: number; readonly tab: ExperimentTab }
  | { readonly page: "trial"; readonly id: number; readonly tab: TrialTab }
  | { readonly page: "cluster"; readonly tab: ClusterTab }
  | { readonly page: "users"; readonly tab: UserTab }
  | { readonly page: "workspace"; readonly id: number; readonly tab: WorkspaceTab }
  | { readonly page: "project"; readonly id: number; readonly tab: ProjectTab }
  | { readonly page: "model" | "template"; readonly name: string }
  | { readonly page: "task"; readonly kind: TaskKind; readonly id: string }
  | { readonly page: "terminal"; readonly id: string }
  | { readonly page: "unknown"; readonly path: string };

export type Query = Readonly<Record<string, string>>;

function isIn<T extends string>(names: readonly T[], name: string): name is T {
  return (names as readonly string[]).includes(name);
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** What an address shows. The original's addresses are understood, too. */
export function parseView(path: string): View {
  const unknown: View = { page: "unknown", path };
  const [first, second, third, fourth, ...more] = path.replace(/^\/det(?=\/|$)/, "").split("/").filter((part) => part !== "");
  if (more.length > 0) return unknown;
  if (first === undefined) return { page: "dashboard" };
  if (first === "cluster" && third === undefined) {
    const tab = second ?? "overview";
    return isIn(clusterTabs, tab) ? { page: "cluster", tab } : unknown;
  }
  if (first === "users" && third === undefined) {
    const tab = second ?? "users";
    return isIn(userTabs, tab) ? { page: "users", tab } : unknown;
  }
  if (second === undefined) {
    if (first === "jobs") return { page: "queue" };
    return isIn(plain, first) ? { page: first } : unknown;
  }
  if ((first === "models" || first === "templates") && third === undefined) {
    const name = decoded(second);
    return name === undefined ? unknown : { page: first === "models" ? "model" : "template", name };
  }
  if (first === "tasks") {
    const id = third === undefined ? undefined : decoded(third);
    if (id === undefined || !isIn(taskKinds, second)) return unknown;
    if (fourth === "terminal" && second === "shell") return { page: "terminal", id };
    return fourth === undefined ? { page: "task", kind: second, id } : unknown;
  }
  const id = Number(second);
  if (!Number.isSafeInteger(id) || id < 1) return unknown;
  // /det/experiments/1/trials/2 is how the original names a trial.
  if (first === "experiments" && third === "trials" && fourth !== undefined) return parseView(`/trials/${fourth}`);
  if (fourth !== undefined) return unknown;
  if (first === "workspaces") {
    const tab = third ?? "projects";
    return isIn(workspaceTabs, tab) ? { page: "workspace", id, tab } : unknown;
  }
  if (first === "projects") {
    const tab = third ?? "experiments";
    return isIn(projectTabs, tab) ? { page: "project", id, tab } : unknown;
  }
  const tab = third ?? "overview";
  if (first === "experiments" && isIn(experimentTabs, tab)) return { page: "experiment", id, tab };
  if (first === "trials" && isIn(trialTabs, tab)) return { page: "trial", id, tab };
  return unknown;
}

export function pathOf(view: View): string {
  const tab = (name: string, plainTab = "overview") => (name === plainTab ? "" : `/${name}`);
  switch (view.page) {
    case "dashboard":
      return `${mount}/`;
    case "experiment":
      return `${mount}/experiments/${view.id}${tab(view.tab)}`;
    case "trial":
      return `${mount}/trials/${view.id}${tab(view.tab)}`;
    case "cluster":
      return `${mount}/cluster${tab(view.tab)}`;
    case "users":
      return `${mount}/users${tab(view.tab, "users")}`;
    case "workspace":
      return `${mount}/workspaces/${view.id}${tab(view.tab, "projects")}`;
    case "project":
      return `${mount}/projects/${view.id}${tab(view.tab, "experiments")}`;
    case "model":
    case "template":
      return `${mount}/${view.page}s/${encodeURIComponent(view.name)}`;
    case "task":
      return `${mount}/tasks/${view.kind}/${encodeURIComponent(view.id)}`;
    case "terminal":
      return `${mount}/tasks/shell/${encodeURIComponent(view.id)}/terminal`;
    case "unknown":
      return view.path;
    default:
      return `${mount}/${view.page}`;
  }
}

/** A query as an address has it; what is empty is left out, so that the plain address stays plain. */
export function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== "") parameters.set(name, value);
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

export function parseQuery(text: string): Query {
  return Object.fromEntries(new URLSearchParams(text));
}

/** A kind of task as a title. */
export function kindName(kind: TaskKind): string {
  return kind === "tensorboard" ? "TensorBoard" : kind.charAt(0).toUpperCase() + kind.slice(1);
}

/** What the browser's tab is called. */
export function titleOf(view: View): string {
  const word = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
  const of = (thing: string, tab: string) => (tab === "overview" ? thing : `${word(tab)} · ${thing}`);
  switch (view.page) {
    case "experiment":
      return of(`Experiment ${view.id}`, view.tab);
    case "trial":
      return of(`Trial ${view.id}`, view.tab);
    case "cluster":
      return view.tab === "logs" ? "Master log" : of("Cluster", view.tab);
    case "users":
      return view.tab === "tokens" ? "Access tokens" : word(view.tab);
    case "workspace":
      return view.tab === "projects" ? `Workspace ${view.id}` : of(`Workspace ${view.id}`, view.tab);
    case "project":
      return view.tab === "experiments" ? `Project ${view.id}` : of(`Project ${view.id}`, view.tab);
    case "model":
    case "template":
      return `${word(view.page)} ${view.name}`;
    case "task":
      return `${kindName(view.kind)} ${view.id}`;
    case "terminal":
      return `Terminal ${view.id}`;
    case "unknown":
      return "Page not found";
    case "queue":
      return "Job queue";
    case "compare":
      return "Compare trials";
    case "audit":
      return "Audit log";
    case "api":
      return "API reference";
    case "design":
      return "Design system";
    default:
      return word(view.page);
  }
}
