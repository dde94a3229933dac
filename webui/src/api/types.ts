/** What the master's /api/v1 sends: the parts of its objects that pages show. */

/** A double as JSON has it: "NaN", "Infinity" and "-Infinity" are strings. */
export type WireNumber = number | string;

export interface User {
  readonly id: number;
  readonly username: string;
  readonly admin: boolean;
}

export interface Experiment {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly labels: readonly string[];
  readonly state: string;
  readonly archived: boolean;
  readonly startTime: string;
  readonly endTime?: string | null;
  readonly numTrials: number;
  readonly username: string;
  readonly resourcePool: string;
  readonly searcherType: string;
  readonly searcherMetric: string;
  readonly progress: number;
  readonly config: unknown;
  readonly originalConfig: string;
  readonly bestTrialSearcherMetric?: WireNumber | null;
  readonly bestTrialId?: number | null;
  /** Why it is in state ERROR, and why it does not run yet. */
  readonly error?: string;
  readonly waitingReason?: string;
  readonly git?: Git;
}

export interface Validation {
  readonly totalBatches: number;
  readonly metrics: { readonly avgMetrics: Readonly<Record<string, unknown>> };
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
  readonly bestValidation?: Validation | null;
  readonly latestValidation?: Validation | null;
  readonly bestCheckpoint?: { readonly uuid: string; readonly totalBatches: number } | null;
  readonly checkpointCount?: number;
  readonly totalCheckpointSize?: string;
  readonly runnerState?: string;
  readonly error?: string;
  readonly waitingReason?: string;
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

export interface Git {
  readonly commit?: string;
  readonly branch?: string;
  readonly remote?: string;
  readonly dirty?: boolean;
}

/** One report: the values of one group of metrics at one point of training. */
export interface MetricReport {
  readonly trialId: number;
  readonly totalBatches: number;
  readonly group: string;
  readonly metrics: {
    readonly avg_metrics?: Readonly<Record<string, unknown>>;
    readonly validation_metrics?: Readonly<Record<string, unknown>>;
  };
}

export interface LogLine {
  readonly id: string;
  readonly message: string;
  readonly level?: string;
}
