/** What the master's /api/v1 sends: the parts of its objects that pages show. */

/** A double as JSON has it: "NaN", "Infinity" and "-Infinity" are strings. */
export type WireNumber = number | string;

export interface Pagination {
  readonly offset: number;
  readonly limit: number;
  readonly total?: number;
}

export interface User {
  readonly id: number;
  readonly username: string;
  readonly displayName?: string;
  readonly admin: boolean;
  readonly active: boolean;
  readonly modifiedAt?: string;
}

export interface Experiment {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly labels: readonly string[];
  readonly notes: string;
  readonly state: string;
  readonly archived: boolean;
  readonly startTime: string;
  readonly endTime?: string | null;
  readonly numTrials: number;
  readonly userId: number;
  readonly username: string;
  readonly projectId: number;
  readonly projectName: string;
  readonly workspaceId: number;
  readonly workspaceName: string;
  readonly resourcePool: string;
  /** Its processes run outside the cluster, which can not command them. */
  readonly unmanaged?: boolean;
  readonly searcherType: string;
  readonly searcherMetric: string;
  readonly forkedFrom?: number | null;
  readonly progress: number;
  readonly config: unknown;
  readonly originalConfig: string;
  readonly checkpointCount: number;
  /** Bytes; 64-bit integers come as text. */
  readonly checkpointSize: string;
  readonly modelDefinitionSize: number;
  readonly bestTrialSearcherMetric?: WireNumber | null;
  readonly bestTrialId?: number | null;
  /** Why it is in state ERROR, and why it does not run yet. */
  readonly error?: string;
  readonly waitingReason?: string;
  readonly git?: Git;
}

/** The commit that the submitted files come from. */
export interface Git {
  readonly commit?: string;
  readonly branch?: string;
  readonly remote?: string;
  readonly dirty?: boolean;
}

/** What a trial ran in: one entry for each different environment, that of the newest run first. */
export interface TrialEnvironments {
  readonly environments: readonly {
    readonly environment: {
      readonly versions?: Readonly<Record<string, string | null>>;
      readonly os?: Readonly<Record<string, string>>;
      readonly hardware?: Readonly<Record<string, unknown>> & {
        readonly gpus?: readonly { readonly name: string; readonly memory_bytes: number }[];
      };
      readonly switches?: Readonly<Record<string, unknown>>;
      readonly variables?: Readonly<Record<string, string>>;
      readonly packages?: readonly string[];
    };
    readonly found: readonly { readonly runId: number; readonly rank: number }[];
  }[];
  readonly seeds: { readonly trial: number; readonly experiment?: number | null };
  readonly git: Git;
}

/** Metrics of one kind at one point of training, as `workloads` and trials have them. */
export interface MetricsWorkload {
  readonly endTime: string;
  readonly totalBatches: number;
  /** Records, over all slots; 0 where nobody counted. */
  readonly numInputs?: number;
  readonly metrics: { readonly avgMetrics: Readonly<Record<string, unknown>> };
}

export interface CheckpointWorkload {
  readonly uuid: string;
  readonly state: string;
  readonly endTime: string;
  readonly totalBatches: number;
  readonly resources: Readonly<Record<string, string>>;
}

export interface Workload {
  readonly training?: MetricsWorkload | null;
  readonly validation?: MetricsWorkload | null;
  readonly checkpoint?: CheckpointWorkload | null;
}

export interface Trial {
  readonly id: number;
  readonly experimentId: number;
  readonly state: string;
  readonly startTime: string;
  readonly endTime?: string | null;
  readonly restarts: number;
  readonly hparams: Readonly<Record<string, unknown>>;
  readonly totalBatchesProcessed: number;
  readonly targetBatches?: number;
  readonly searcherMetricValue?: WireNumber | null;
  readonly bestValidation?: MetricsWorkload | null;
  readonly latestValidation?: MetricsWorkload | null;
  readonly bestCheckpoint?: CheckpointWorkload | null;
  readonly checkpointCount?: number;
  readonly totalCheckpointSize?: string;
  readonly runnerState?: string;
  readonly logPolicyMatched?: string;
  readonly warmStartCheckpointUuid?: string;
  readonly taskId?: string;
  readonly error?: string;
  readonly waitingReason?: string;
}

export interface Checkpoint {
  readonly uuid: string;
  readonly taskId: string;
  readonly allocationId: string;
  readonly reportTime: string;
  readonly state: string;
  readonly resources: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly training: {
    readonly trialId?: number | null;
    readonly experimentId?: number | null;
    readonly searcherMetric?: WireNumber | null;
  };
}

/** One report: the values of one group of metrics at one point of training. */
export interface MetricReport {
  readonly trialId: number;
  readonly trialRunId: number;
  readonly endTime: string;
  readonly totalBatches: number;
  /** Records that the report is about, over all slots; 0 where nobody counted. */
  readonly numInputs?: number;
  readonly group: string;
  readonly metrics: {
    readonly avg_metrics?: Readonly<Record<string, unknown>>;
    readonly validation_metrics?: Readonly<Record<string, unknown>>;
  };
}

export interface LogLine {
  /** Increasing; a 64-bit integer as text. */
  readonly id: string;
  readonly timestamp: string;
  readonly message: string;
  readonly log: string;
  readonly level?: string;
  readonly source?: string;
  readonly stdtype?: string;
  readonly agentId?: string;
  readonly rankId?: number | null;
}

export interface Device {
  readonly id: number;
  readonly brand: string;
  readonly type: string;
}

export interface Slot {
  readonly id: string;
  readonly device: Device;
  readonly enabled: boolean;
  readonly draining: boolean;
  readonly container?: { readonly id: string; readonly parent: string; readonly state: string } | null;
}

export interface Agent {
  readonly id: string;
  readonly registeredTime: string;
  readonly slots: Readonly<Record<string, Slot>>;
  readonly addresses: readonly string[];
  readonly enabled: boolean;
  readonly draining: boolean;
  readonly silent: boolean;
  readonly version: string;
  readonly resourcePools: readonly string[];
}

export interface ResourcePool {
  readonly name: string;
  readonly description: string;
  readonly scheduler: string;
  readonly numAgents: number;
  readonly slotsAvailable: number;
  readonly slotsUsed: number;
}

export interface Task {
  readonly taskId: string;
  readonly allocationId: string;
  readonly name: string;
  readonly registeredTime: string;
  readonly resourcePool: string;
  readonly slotsNeeded: number;
  readonly resources: readonly { readonly agentDevices: Readonly<Record<string, { readonly devices: readonly { readonly id: number }[] }>> }[];
  readonly state: string;
  readonly waitingReason: string;
}

export interface Job {
  /** `jobsAhead` is -1 where the pool's queue has no order. */
  readonly summary: { readonly state: string; readonly jobsAhead: number };
  readonly type: string;
  readonly submissionTime: string;
  readonly userId: number;
  readonly username: string;
  readonly workspaceId: number;
  readonly resourcePool: string;
  readonly isPreemptible: boolean;
  /** Null where the pool shares by weight. */
  readonly priority?: number | null;
  readonly weight: number;
  readonly entityId: string;
  readonly jobId: string;
  readonly name: string;
  readonly requestedSlots: number;
  readonly allocatedSlots: number;
  readonly progress: number;
  /** Of the first of its trials that waits. */
  readonly waitingReason?: string;
}

/** Why a job waits: for each of its trials. */
export interface WhyReply {
  readonly job: Job;
  readonly scheduler: string;
  readonly explanation: string;
  readonly trials: readonly {
    readonly trialId: number;
    readonly state: string;
    readonly slots: number;
    readonly agents: readonly string[];
    readonly reason: string;
    readonly canNeverRun: boolean;
    readonly behindJobId: string;
  }[];
}

/** A message of the administrators. */
export interface MessageToAll {
  readonly message: string;
  readonly startTime: string;
  readonly endTime: string | null;
}

export interface MasterFacts {
  readonly version: string;
  readonly clusterName: string;
  readonly clusterId: string;
  /** Whether roles count. */
  readonly rbacEnabled: boolean;
}
