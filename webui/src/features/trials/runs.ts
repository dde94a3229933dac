/** The runs of a trial: each time its process started, and where it went on. Pure. */

import type { Checkpoint, LogLine } from "../../api/types";
import { toNumber } from "../../components/format";

export interface Run {
  readonly run: number;
  readonly started: string | undefined;
  readonly agent: string | undefined;
  /** Where the number may change from run to run. */
  readonly slots?: number | undefined;
  /** The checkpoint it began from; undefined: it began at batch 0. */
  readonly from: { readonly uuid: string; readonly batches: number } | undefined;
  /** The number of batches after which it said it goes on. */
  readonly saidFrom: number | undefined;
  /** Of what counts of it: the next run goes on there, or earlier. */
  readonly lastBatch: number;
  readonly checkpoints: number;
}

const runOf = ({ allocationId }: Checkpoint) => Number(/\.(\d+)$/.exec(allocationId)?.[1] ?? 1);
const batchesOf = ({ metadata }: Checkpoint) => toNumber(metadata.steps_completed) ?? 0;

/**
 * Puts together what the master keeps: its own lines in the trial's log say
 * when and where each run started, the run's own line where it goes on, a
 * checkpoint's allocation which run saved it. A run begins from the newest
 * checkpoint that earlier runs had saved, unless it says that it goes on
 * elsewhere; the last one came as far as the trial, `batches`.
 */
export function runs(checkpoints: readonly Checkpoint[], batches: number, lines: readonly LogLine[]): Run[] {
  const starts = new Map<number, { time: string; agent: string; slots: number | undefined }>();
  const said = new Map<number, number>();
  let current = 1;
  for (const { log, timestamp } of lines) {
    const start = /\(run (\d+)\) starts on agent (.+?)(?: with (\d+) slots?, of .*)?$/.exec(log.trimEnd());
    if (start) {
      current = Number(start[1]);
      starts.set(current, { time: timestamp, agent: start[2] ?? "", slots: start[3] === undefined ? undefined : Number(start[3]) });
    }
    const going = /determined: going on after batch (\d+)/.exec(log);
    if (going && !said.has(current)) said.set(current, Number(going[1]));
  }
  const numbers = new Set([...starts.keys(), ...checkpoints.map(runOf)]);
  const last = Math.max(0, ...numbers);
  return [...numbers]
    .filter((run) => run > 0)
    .sort((a, b) => a - b)
    .map((run) => {
      const saved = checkpoints.filter((checkpoint) => runOf(checkpoint) === run);
      const earlier = checkpoints.filter((checkpoint) => runOf(checkpoint) < run);
      const goesOn = said.get(run);
      const from =
        earlier.find((checkpoint) => batchesOf(checkpoint) === goesOn) ??
        (goesOn === undefined ? earlier.sort((a, b) => batchesOf(b) - batchesOf(a))[0] : undefined);
      return {
        run,
        started: starts.get(run)?.time,
        agent: starts.get(run)?.agent,
        slots: starts.get(run)?.slots,
        from: from === undefined ? undefined : { uuid: from.uuid, batches: batchesOf(from) },
        saidFrom: goesOn,
        lastBatch: Math.max(run === last ? batches : 0, ...saved.map(batchesOf)),
        checkpoints: saved.length,
      };
    });
}
