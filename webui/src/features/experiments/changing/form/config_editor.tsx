import { useState } from "react";
import { getText } from "../../../../api/client";
import { usePolled } from "../../../../api/loadable";
import { Loaded } from "../../../../components/parts";
import type { Node } from "./schema";
import { late } from "../../../../components/late";

const ConfigForm = late(() => import("./config_form").then((m) => m.default));

/** A configuration, as fields or as YAML: both change the same text. */
export function ConfigEditor({ text, onText }: { text: string; onText: (text: string) => void }) {
  const [asForm, setAsForm] = useState(true);
  return (
    <>
      <div className="row segmented" role="group" aria-label="How to edit">
        {(["Form", "YAML"] as const).map((name) => (
          <button key={name} type="button" aria-pressed={asForm === (name === "Form")} onClick={() => setAsForm(name === "Form")}>
            {name}
          </button>
        ))}
      </div>
      {asForm ? <Form text={text} onText={onText} /> : <textarea className="code mono" aria-label="Configuration (YAML)" value={text} spellCheck={false} onChange={(event) => onText(event.target.value)} />}
    </>
  );
}

function Form(props: { text: string; onText: (text: string) => void }) {
  const [schema] = usePolled(
    "configuration schema",
    async (signal) => JSON.parse(await getText("/api/v1/schemas/experiment-config", signal)) as Node,
    0,
    () => false,
  );
  return (
    <Loaded of={schema} what="the fields of configurations">
      {(root) => (
        <ConfigForm schema={root} {...props} />
      )}
    </Loaded>
  );
}
