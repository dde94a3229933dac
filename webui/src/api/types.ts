/** The objects of the API that pages show, from the master's document, and narrower where the document cannot say it. */

import type { components } from "./generated/schema";

type Schemas = components["schemas"];

/** A double as JSON has it: "NaN", "Infinity" and "-Infinity" are strings. The document calls it a number. */
export type WireNumber = number | string;

/** What is sent in both directions is always whole in replies; the document says what a request may lack. */
type Whole<T> = { readonly [K in keyof T]-?: T[K] };

/** Some members with other types than the document has. */
type With<T, Members> = Omit<T, keyof Members> & Members;

export type Agent = With<Schemas["Agent"], { readonly slots: Readonly<Record<string, Slot>> }>;
/** Machines that the provider of a resource pool was asked for, or gave. */
export type Allotment = Schemas["AllotmentObject"];
/** `byTask` is the task that acted in the user's name, `operation` "POST /api/v1/experiments/{id}/kill", `about` "experiment 7". */
export type AuditEntry = Schemas["AuditEntry"];
export type Checkpoint = With<Schemas["Checkpoint"], { readonly training: With<Partial<Schemas["CheckpointTraining"]>, { readonly searcherMetric?: WireNumber | null }> }>;
export type Delivery = With<Schemas["DeliveryObject"], { readonly state: "DELIVERY_STATE_WAITING" | "DELIVERY_STATE_DELIVERED" | "DELIVERY_STATE_GIVEN_UP" }>;
export type Experiment = With<Schemas["Experiment"], { readonly bestTrialSearcherMetric?: WireNumber | null }>;
/** What goes with all that it holds. */
export type Deletable = Pick<Schemas["ProjectObject"], "archived" | "state" | "errorMessage">;
/** The commit that the submitted files come from. */
export type Git = Schemas["Git"];
export type Group = With<Schemas["GroupObject"], { readonly users: readonly User[] }>;
export type ExperimentPage = { readonly experiments: readonly Experiment[]; readonly pagination: Schemas["Pagination"] };
export type Job = Schemas["Job"];
export type LaunchedTask = Schemas["Task"];
export type LogLine = Pick<Schemas["LogLine"], "id" | "timestamp" | "message" | "log"> &
  Partial<Pick<Schemas["LogLine"], "level" | "source" | "stdtype" | "agentId" | "rankId">>;
/** Who has roles in a workspace. */
export type Members = With<Schemas["MembersReply"], { readonly groups: readonly Group[]; readonly usersAssignedDirectly: readonly User[]; readonly assignments: readonly RoleWithAssignments[] }>;
/** One report: the values of one group of metrics at one point of training. */
export type MetricReport = With<
  Omit<Schemas["MetricsReport"], "id" | "archived">,
  {
    /** Records, over all slots; 0 where nobody counted. */
    readonly numInputs?: number;
    readonly metrics: { readonly avg_metrics?: Readonly<Record<string, unknown>>; readonly validation_metrics?: Readonly<Record<string, unknown>> };
  }
>;
export type Model = Schemas["ModelObject"];
export type ModelVersion = Schemas["Version"];
/** The caller's roles, and where they hold. */
/** A validation, with its metrics. */
export type ParetoPoint = Schemas["DominatedPoint"];
export type Permissions = With<Schemas["SummaryReply"], { readonly roles: readonly Role[] }>;
export type PoolSample = Schemas["PoolSample"];
export type Project = With<Schemas["ProjectObject"], { readonly notes: readonly ProjectNote[] }>;
export type ProjectNote = Whole<Schemas["ProjectNote"]>;
export type ResourcePool = Schemas["Pool"];
export type Role = With<Whole<Pick<Schemas["RoleObject"], "roleId" | "name" | "summary">>, { readonly permissions: readonly { readonly id: string }[] }>;
export type RoleWithAssignments = With<
  Schemas["RoleWithAssignments"],
  {
    readonly role: Role;
    readonly groupRoleAssignments: readonly { readonly groupId: number }[];
    readonly userRoleAssignments: readonly { readonly userId: number; readonly roleAssignment: { readonly role: Pick<Role, "roleId">; readonly scopeWorkspaceId?: number | null } }[];
  }
>;
export type Slot = With<Omit<Schemas["Slot"], "container">, { readonly device: Omit<Schemas["Device"], "uuid"> }>;
export type TaskSummary = With<Omit<Schemas["TaskSummary"], "schedulerType" | "priority" | "proxyPorts" | "type">, { readonly resources: readonly Pick<Schemas["TaskResources"], "agentDevices">[] }>;
export type Template = Schemas["Template"];
export type Token = Whole<Schemas["TokenObject"]>;
export type Trial = With<Schemas["Trial"], { readonly searcherMetricValue?: WireNumber | null }>;
/** Slot-seconds and costs of a day or month. */
export type UsageEntry = Schemas["AggregatedEntry"];
export type User = Pick<Schemas["User"], "id" | "username" | "admin" | "active"> & Partial<Pick<Schemas["User"], "displayName" | "modifiedAt">>;
export type Trigger = Pick<Schemas["TriggerObject"], "triggerType" | "condition">;
export type Webhook = With<Omit<Whole<Schemas["WebhookObject"]>, "workspaceId">, { readonly triggers: readonly Trigger[]; readonly workspaceId?: number }>;
/** One entry for each different environment that a trial had, that of the newest run first. */
export type TrialEnvironments = With<
  Schemas["EnvironmentsReply"],
  {
    readonly environments: readonly With<Schemas["FoundEnvironment"], { readonly found: readonly Pick<Schemas["Finding"], "runId" | "rank">[] }>[];
  }
>;
export type Workload = Schemas["Workload"];
export type Workspace = Schemas["WorkspaceObject"];
