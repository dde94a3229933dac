import { useState } from "react";
import { post } from "../../api/client";
import type { Workspace } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { Field } from "../../components/parts";
import { type Draft, emptyDraft, endStates, integration, missing, requestOf } from "./webhook";

interface NewWebhookProps {
  /** For which workspaces one may make them, and whether also for all. */
  readonly places: readonly Workspace[];
  readonly everywhere: boolean;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks where the master shall post to, and when. */
export function NewWebhook({ places, everywhere, onDone, onClose }: NewWebhookProps) {
  const [draft, setDraft] = useState<Draft>({ ...emptyDraft, workspace: everywhere ? 0 : (places[0]?.id ?? 0) });
  const set = (some: Partial<Draft>) => setDraft((before) => ({ ...before, ...some }));
  const lacks = missing(draft);
  return (
    <Dialog
      title="New webhook"
      action="Create"
      disabled={lacks !== undefined}
      onAction={() => post("/api/v1/webhooks", { body: requestOf(draft) }).then(onDone)}
      onClose={onClose}
    >
      <Field label="Name">
        <input value={draft.name} required autoFocus maxLength={255} onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <Field label="URL">
        <input value={draft.url} type="url" required placeholder="https://" onChange={(event) => set({ url: event.target.value })} />
      </Field>
      <Field label="Type">
        <select value={draft.slack ? "slack" : "generic"} onChange={(event) => set({ slack: event.target.value === "slack" })}>
          <option value="generic">Generic (JSON)</option>
          <option value="slack">Slack</option>
        </select>
      </Field>
      <Field label="Scope">
        <select value={draft.workspace} onChange={(event) => set({ workspace: Number(event.target.value) })}>
          {everywhere && <option value={0}>all workspaces</option>}
          {places.map(({ id, name }) => (
            <option key={id} value={id}>
              workspace {name}
            </option>
          ))}
        </select>
      </Field>
      <label className="check">
        <input type="checkbox" checked={draft.specific} onChange={(event) => set({ specific: event.target.checked })} /> Only experiments whose configuration names it
      </label>
      {draft.specific && <pre className="code">{integration(draft.name.trim() || "NAME")}</pre>}
      <fieldset>
        <legend>Triggers</legend>
        {endStates.map((state) => (
          <label key={state} className="check">
            <input
              type="checkbox"
              checked={draft.states.includes(state)}
              onChange={(event) => set({ states: endStates.filter((name) => (name === state ? event.target.checked : draft.states.includes(name))) })}
            />{" "}
            Experiment becomes {state.toLowerCase()}
          </label>
        ))}
        <label className="check">
          <input
            type="checkbox"
            checked={draft.alerts && draft.specific}
            disabled={!draft.specific}
            onChange={(event) => set({ alerts: event.target.checked })}
          />{" "}
          Script calls context.alert(){draft.specific ? "" : " (only for experiments that name it)"}
        </label>
        <Field label="Log line matches, once per task (RE2 regular expressions, one per line)">
          <textarea
            rows={3}
            className="mono"
            spellCheck={false}
            value={draft.patterns}
            placeholder="CUDA out of memory"
            onChange={(event) => set({ patterns: event.target.value })}
          />
        </Field>
      </fieldset>
      {lacks !== undefined && draft.name !== "" && <p className="quiet">{lacks}</p>}
    </Dialog>
  );
}
