import { type SyntheticEvent, useId, useMemo, useState } from "react";
import { Problem } from "../../../../components/parts";
import { parseConfig, type Row, sectionsOf, typed, withoutField, withValue } from "./fields";
import { type Field, fieldAt, missing, type Node, problemOf } from "./schema";

interface ConfigFormProps {
  readonly text: string;
  readonly schema: Node;
  readonly onText: (text: string) => void;
}

/** The fields of a configuration, by its JSON Schema. The text of it is what changes. */
export default function ConfigForm({ text, schema, onText }: ConfigFormProps) {
  const parsed = useMemo(() => parseConfig(text), [text]);
  if (typeof parsed === "string") return <Problem text={`The YAML cannot be read: ${parsed}`} />;
  return (
    <div className="configform">
      {[...sectionsOf(parsed.rows)].map(([section, rows]) => (
        <fieldset key={section}>
          <legend>{section === "" ? "experiment" : section}</legend>
          {rows.map((row) => (
            <FieldRow
              key={row.path.join(".")}
              row={row}
              field={fieldAt(schema, row.path, parsed.config)}
              onChange={(value) => onText(withValue(text, row.path, value))}
              onRemove={() => onText(withoutField(text, row.path))}
            />
          ))}
        </fieldset>
      ))}
      <AddField schema={schema} config={parsed.config} onAdd={(path, value) => onText(withValue(text, path, value))} />
    </div>
  );
}

interface FieldRowProps {
  readonly row: Row;
  /** Undefined: the schema has no such field. */
  readonly field: Field | undefined;
  readonly onChange: (value: unknown) => void;
  readonly onRemove: () => void;
}

function FieldRow({ row: { path, value, text }, field, onChange, onRemove }: FieldRowProps) {
  const [id, hint] = [useId(), useId()];
  const name = path.join(".");
  const problem = field === undefined ? "there is no such field" : problemOf(field, value);
  const choices = field === undefined ? [] : field.types.length === 1 && field.types[0] === "boolean" ? ["true", "false"] : field.choices;
  const common = { id, "aria-invalid": problem !== "", "aria-describedby": hint };
  return (
    <div className="configfield">
      <label htmlFor={id} className="mono">
        {path.slice(path.length > 1 ? 1 : 0).join(".")}
      </label>
      {choices.length > 0 ? (
        <select {...common} value={text} onChange={(event) => onChange(typed(event.target.value, field))}>
          {[...new Set([...choices, text])].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      ) : (
        <Line {...common} text={text} onChange={(to) => onChange(typed(to, field))} />
      )}
      <button type="button" className="text" aria-label={`Remove ${name}`} title={`Remove ${name}`} onClick={onRemove}>
        ×
      </button>
      <small id={hint} className={problem === "" ? "quiet" : "problem"}>
        {problem === "" ? field?.about : `${name} ${problem}.`}
      </small>
    </div>
  );
}

/** A value is taken when somebody has written it: half of a number is none. */
function Line({ text, onChange, ...field }: { id: string; text: string; onChange: (text: string) => void }) {
  const [draft, setDraft] = useState<string | undefined>();
  const settle = () => {
    if (draft !== undefined && draft !== text) onChange(draft);
    setDraft(undefined);
  };
  return (
    <input
      {...field}
      className="mono"
      value={draft ?? text}
      spellCheck={false}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={settle}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || draft === undefined || draft === text) return;
        event.preventDefault();
        settle();
      }}
    />
  );
}

function AddField({ schema, config, onAdd }: { schema: Node; config: unknown; onAdd: (path: string[], value: unknown) => void }) {
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  const list = useId();
  const known = useMemo(() => missing(schema, config), [schema, config]);
  const path = name.trim().split(".");
  const field = name.trim() === "" ? undefined : fieldAt(schema, path, config);
  const add = (event: SyntheticEvent) => {
    event.preventDefault();
    if (field === undefined) return setProblem(name.trim() === "" ? "Name the field to add, such as resources.slots_per_trial." : `There is no field ${name.trim()}.`);
    onAdd(path, field.fallback ?? field.choices[0] ?? "");
    setName("");
    setProblem("");
  };
  return (
    <div className="row">
      <input
        className="mono"
        list={list}
        value={name}
        placeholder="Field to add"
        aria-label="Field to add"
        spellCheck={false}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && add(event)}
      />
      <datalist id={list}>
        {known.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <button type="button" onClick={add}>
        Add field
      </button>
      <span className="quiet">{field?.about}</span>
      <Problem text={problem} />
    </div>
  );
}
