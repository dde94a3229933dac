import { useState } from "react";
import { get, patch, remove } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Template } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { useRights } from "../../components/people/me";
import { Loaded, PageHead, Panel } from "../../components/parts";
import { go } from "../../components/address/route";
import { NumberedText, YamlField } from "../../components/forms/text";
import { useWorkspaceNames } from "../../components/forms/workspace_choice";
import { at, one, usage } from "./template_config";

const pollMs = 5000;

/** One template: what it says, how it is used, and a way to change it. */
export function TemplatePage({ name }: { name: string }) {
  const [loaded, reload] = usePolled(
    `template ${name}`,
    async (signal) => (await get(one, at(name), signal)).template as Template,
    pollMs,
  );
  return (
    <Loaded of={loaded} what={`template ${name}`} title={`Template ${name}`}>
      {(template) => <Whole template={template} reload={reload} />}
    </Loaded>
  );
}

function Whole({ template, reload }: { template: Template; reload: () => void }) {
  const { name, yaml } = template;
  const place = { workspace: template.workspaceId };
  const nameOf = useWorkspaceNames();
  const { may } = useRights();
  const [edits, setEdits] = useState(false);
  const [deletes, setDeletes] = useState(false);
  return (
    <>
      <PageHead
        title={
          <>
            <span className="quiet">Template</span> {name}
          </>
        }
        actions={
          <>
            {may("UPDATE_TEMPLATES", place) && (
              <button type="button" onClick={() => setEdits(true)}>
                Edit
              </button>
            )}
            {may("DELETE_TEMPLATES", place) && (
              <button type="button" onClick={() => setDeletes(true)}>
                Delete
              </button>
            )}
          </>
        }
      />
      <p className="quiet">
        In workspace {nameOf(template.workspaceId)}. To use this template: <code>{usage(name)}</code>
      </p>
      <Panel
        title="Configuration"
        tools={
          <a href={`data:application/yaml;charset=utf-8,${encodeURIComponent(yaml)}`} download={`${name.replace(/[^\w.-]+/g, "-")}.yaml`}>
            Download
          </a>
        }
      >
        <NumberedText text={yaml} />
      </Panel>
      {edits && <EditTemplate template={template} onDone={reload} onClose={() => setEdits(false)} />}
      {deletes && (
        <Dialog
          title={`Delete template ${name}?`}
          action="Delete"
          danger
          onAction={() => remove(one, at(name)).then(() => go({ page: "templates" }))}
          onClose={() => setDeletes(false)}
        >
          <p>Existing experiments are not affected. New ones that name it are rejected.</p>
        </Dialog>
      )}
    </>
  );
}

function EditTemplate({ template, onDone, onClose }: { template: Template; onDone: () => void; onClose: () => void }) {
  // What one edits stays as it was when the dialog opened.
  const [before] = useState(template.yaml);
  const [yaml, setYaml] = useState(before);
  return (
    <Dialog
      title={`Edit template ${template.name}`}
      action="Save"
      wide
      disabled={yaml === before}
      onAction={() => patch(one, { ...at(template.name), body: yaml }).then(onDone)}
      onClose={onClose}
    >
      <YamlField value={yaml} onChange={setYaml} />
      <p className="quiet">Applies to experiments and tasks submitted from now on.</p>
    </Dialog>
  );
}
