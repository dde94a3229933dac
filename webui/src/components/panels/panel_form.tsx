import { useEffect, useId, useState } from "react";
import { bandKinds } from "../charts/bands";
import { axes } from "../charts/curves";
import { weights } from "../charts/view";
import { Dialog } from "../forms/dialog";
import { Choice, Field } from "../parts";
import { type ChartPanel, kinds, parseTrials, trialsMax, widths } from "./block";
import { Drawn, type Known } from "./drawn";

interface PanelFormProps {
  readonly title: string;
  readonly action: string;
  readonly panel: ChartPanel;
  readonly projectId: number | undefined;
  readonly onSave: (panel: ChartPanel) => Promise<void>;
  readonly onClose: () => void;
}

const sources = [["experiments", "experiments"], ["trials", "trials"]] as const;
const each = [["best", "best of each"], ["all", "all of each"]] as const;
const named = <T extends string>(names: readonly T[]) => names.map((name) => [name, name] as const);
const typingMs = 400;

/** What a panel shows, as fields, and how it looks. */
export function PanelForm({ title, action, panel: before, projectId, onSave, onClose }: PanelFormProps) {
  const [panel, setPanel] = useState(before);
  const [ids, setIds] = useState(before.trials.join(", "));
  const [known, setKnown] = useState<Known>({ metrics: [], groups: [] });
  const [metricList, groupList] = [useId(), useId()];
  const { view, experiments } = panel;
  const trials = experiments === undefined ? parseTrials(ids) : [];
  const wrong = typeof trials === "string" ? trials : experiments === undefined && trials.length === 0 ? "Type the IDs of trials." : "";
  const next: ChartPanel = { ...panel, trials: typeof trials === "string" ? [] : trials };
  const change = (what: Partial<ChartPanel>) => setPanel({ ...panel, ...what });
  const look = (what: Partial<ChartPanel["view"]>) => change({ view: { ...view, ...what } });
  const shown = useRested(JSON.stringify(next));
  return (
    <Dialog title={title} action={action} wide disabled={wrong !== ""} changed={JSON.stringify(next) !== JSON.stringify(before)} onAction={() => onSave(next)} onClose={onClose}>
      <Field label="Title">
        <input value={panel.title} onChange={(event) => change({ title: event.target.value })} />
      </Field>
      <div className="row filters">
        <Choice label="Type" value={panel.kind} options={kinds} onChange={(kind) => change({ kind, all: kind !== "curves" && experiments !== undefined })} />
        <Choice label="Width" value={panel.width} options={named(widths)} onChange={(width) => change({ width })} />
      </div>
      <div className="row filters">
        <Choice label="Show" value={experiments === undefined ? "trials" : "experiments"} options={sources} onChange={(source) => change({ experiments: source === "trials" ? undefined : "", all: panel.all && source !== "trials" })} />
        {experiments !== undefined && (
          <>
            <label className="choice">
              <span>Newest</span>
              <input type="number" min={1} max={trialsMax} required value={panel.newest} onChange={({ target }) => target.validity.valid && change({ newest: target.valueAsNumber })} />
            </label>
            <Choice label="Trials" value={panel.all ? "all" : "best"} options={each} onChange={(which) => change({ all: which === "all" })} />
          </>
        )}
      </div>
      {experiments === undefined ? (
        <Field label="Trial IDs">
          <input value={ids} inputMode="numeric" placeholder="3, 5" onChange={(event) => setIds(event.target.value)} />
        </Field>
      ) : (
        <Field label="Filter of experiments">
          <input value={experiments} spellCheck={false} autoComplete="off" placeholder="All. Or: lr < 1e-3 and state = COMPLETED" onChange={(event) => change({ experiments: event.target.value })} />
        </Field>
      )}
      {panel.kind === "curves" && (
        <>
          <div className="row filters">
            <label className="choice">
              <span>Metric</span>
              <input value={view.metric} list={metricList} placeholder="all" onChange={(event) => look({ metric: event.target.value })} />
            </label>
            <Choice label="X axis" value={view.axis} options={named(axes)} onChange={(axis) => look({ axis })} />
            <Choice label="Smoothing" value={weights.find(([value]) => Number(value) === view.smooth)?.[0] ?? "0"} options={weights} onChange={(value) => look({ smooth: Number(value) })} />
            <label className="check">
              <input type="checkbox" checked={view.log} onChange={(event) => look({ log: event.target.checked })} /> Log scale
            </label>
            <label className="check">
              <input type="checkbox" checked={view.logX} onChange={(event) => look({ logX: event.target.checked })} /> Log x axis
            </label>
          </div>
          <div className="row filters">
            <label className="choice">
              <span>Group by</span>
              <input value={view.group} list={groupList} placeholder="nothing" onChange={(event) => look({ group: event.target.value })} />
            </label>
            {view.group !== "" && <Choice label="Band" value={view.band} options={named(bandKinds)} onChange={(band) => look({ band })} />}
          </div>
          <datalist id={metricList}>
            {known.metrics.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <datalist id={groupList}>
            {known.groups.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      )}
      <section aria-label="Preview">{wrong === "" ? <Drawn panel={JSON.parse(shown) as ChartPanel} projectId={projectId} onKnown={setKnown} /> : <p className="quiet">{wrong}</p>}</section>
    </Dialog>
  );
}

/** A text once it has not changed for a moment. */
function useRested(text: string): string {
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return rested;
}
