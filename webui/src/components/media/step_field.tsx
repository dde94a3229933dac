import { useEffect, useRef, useState } from "react";
import { placeOf } from "./tags";

interface StepFieldProps {
  readonly steps: readonly number[];
  /** Undefined: the newest. */
  readonly step: number | undefined;
  readonly onStep: (step: number | undefined) => void;
}

const settledMs = 100;

/** A slider over the steps of a trial, which tells once it rests. At its right end it stays with the newest step. */
export function StepField({ steps, step, onStep }: StepFieldProps) {
  const [moved, setMoved] = useState<number | undefined>();
  const tell = useRef(onStep);
  tell.current = onStep;
  useEffect(() => {
    if (moved === undefined) return;
    const timer = setTimeout(() => {
      tell.current(moved === steps.length - 1 ? undefined : steps[moved]);
      setMoved(undefined);
    }, settledMs);
    return () => clearTimeout(timer);
  }, [moved, steps]);
  const place = Math.min(moved ?? placeOf(steps, step), steps.length - 1);
  return (
    <label className="choice">
      <span>Step</span>
      <input type="range" min={0} max={steps.length - 1} value={place} disabled={steps.length < 2} aria-valuetext={`step ${steps[place]}`} onChange={(event) => setMoved(Number(event.target.value))} />
      <output>{steps[place]}</output>
    </label>
  );
}
