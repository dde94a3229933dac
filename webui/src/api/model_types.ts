/** What the master's /api/v1 sends about the model registry: the parts that pages show. */

import type { Checkpoint } from "./types";

export interface Model {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly notes: string;
  readonly labels: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly archived: boolean;
  readonly numVersions: number;
  readonly creationTime: string;
  readonly lastUpdatedTime: string;
  readonly userId: number;
  readonly username: string;
  readonly workspaceId: number;
}

export interface ModelVersion {
  readonly id: number;
  readonly version: number;
  readonly checkpoint: Checkpoint;
  readonly name: string;
  readonly comment: string;
  readonly notes: string;
  readonly labels: readonly string[];
  readonly creationTime: string;
  readonly userId: number;
  readonly username: string;
}
