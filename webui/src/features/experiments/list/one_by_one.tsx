import { useState } from "react";
import { ApiError } from "../../../api/client";
import { toApiError } from "../../../api/loadable";
import type { Experiment } from "../../../api/types";
import { count } from "../../../components/format";
import { StateBadge } from "../../../components/parts";

type Outcome = "waits" | "done" | { readonly problem: string };
type Outcomes = ReadonlyMap<number, Outcome>;

/**
 * Does something with experiments one by one, and knows what became of each. `done` says what was done ("paused");
 * `onDone` hears with which it went well, which may be none; `run` fails if it did not with all.
 */
export function useOneByOne(done: string, onDone: (gone: readonly Experiment[]) => void) {
  const [outcomes, setOutcomes] = useState<Outcomes>(new Map());
  const run = async (acts: readonly Experiment[], doOne: (id: number) => Promise<unknown>) => {
    setOutcomes(new Map(acts.map(({ id }) => [id, "waits"])));
    const gone: Experiment[] = [];
    for (const experiment of acts) {
      const outcome = await doOne(experiment.id).then(
        (): Outcome => "done",
        (cause: unknown): Outcome => ({ problem: toApiError(cause).message }),
      );
      if (outcome === "done") gone.push(experiment);
      setOutcomes((before) => new Map(before).set(experiment.id, outcome));
    }
    onDone(gone);
    const failed = acts.length - gone.length;
    if (failed > 0) throw new ApiError(0, `${count(failed, "experiment")} could not be ${done}.`);
  };
  return { outcomes, run };
}

interface ActsProps {
  readonly verb: string;
  readonly acts: readonly Experiment[];
  readonly outcomes: Outcomes;
  readonly done: string;
}

/** The experiments that are meant, with what became of each. */
export function Acts({ verb, acts, outcomes, done }: ActsProps) {
  return (
    <ul className="subjects" aria-label={`Experiments to ${verb}`}>
      {acts.map(({ id, name, state }) => (
        <li key={id}>
          <span className="number">{id}</span>{" "}
          <span className="clip" title={name}>
            {name}
          </span>{" "}
          <StateBadge state={state} /> <Result outcome={outcomes.get(id)} done={done} />
        </li>
      ))}
    </ul>
  );
}

function Result({ outcome, done }: { outcome: Outcome | undefined; done: string }) {
  if (outcome === undefined) return null;
  if (outcome === "waits") return <span className="quiet">…</span>;
  if (outcome === "done") return <span className="state good">{done}</span>;
  return <span className="problem">{outcome.problem}</span>;
}

/** Those that are left as they are, and why. */
export function Leaves({ leaves }: { leaves: readonly { readonly item: Experiment; readonly why: string }[] }) {
  if (leaves.length === 0) return null;
  return (
    <>
      <p>Skipped:</p>
      <ul className="subjects quiet" aria-label="Skipped">
        {leaves.map(({ item, why }) => (
          <li key={item.id}>
            <span className="number">{item.id}</span> {item.name} {why}
          </li>
        ))}
      </ul>
    </>
  );
}
