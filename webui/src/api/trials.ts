import { ApiError, get } from "./client";
import type { Experiment, Trial } from "./types";

export interface TrialWithExperiment {
  readonly trial: Trial;
  readonly experiment: Experiment;
}

export async function getTrial(id: number, signal: AbortSignal): Promise<TrialWithExperiment> {
  const { trial } = await get("/api/v1/trials/{trialId}", { path: { trialId: id } }, signal);
  const { experiment } = await get("/api/v1/experiments/{id}", { path: { id: trial.experimentId } }, signal);
  return { trial, experiment };
}

/** A trial that cannot be shown, and why. */
export interface Missing {
  readonly id: number;
  readonly why: string;
}

/** Each of the trials by itself: one that is not there, or not to be seen, takes the others away from nobody. */
export async function foundOrMissing<T>(ids: readonly number[], load: (id: number) => Promise<T>): Promise<{ readonly found: readonly T[]; readonly missing: readonly Missing[] }> {
  const missing: Missing[] = [];
  const all = await Promise.all(
    ids.map((id) =>
      load(id).then(
        (value) => [value],
        (cause: unknown) => {
          if (!(cause instanceof ApiError) || (cause.status !== 403 && cause.status !== 404)) throw cause;
          missing.push({ id, why: cause.message });
          return [];
        },
      ),
    ),
  );
  return { found: all.flat(), missing: missing.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id)) };
}
