import { useMemo, useState } from "react";
import { get, put } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Template } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { count } from "../../components/format";
import { useRights } from "../../components/people/me";
import { Field, Loaded, PageHead } from "../../components/parts";
import { go, Link, useParameter } from "../../components/address/route";
import { type Column, Table } from "../../components/tables/table";
import { YamlField } from "../../components/forms/text";
import { useWorkspaceChoice, useWorkspaceNames, WorkspaceField } from "../../components/forms/workspace_choice";
import { at, nameProblem, one, settingsText } from "./template_config";

const pollMs = 5000;

const columnsWith = (nameOf: (workspace: number) => string): readonly Column<Template>[] => [
  { id: "name", title: "Name", value: ({ name }) => name, cell: ({ name }) => <Link to={{ page: "template", name }}>{name}</Link> },
  { id: "workspace", title: "Workspace", value: ({ workspaceId }) => nameOf(workspaceId), cell: ({ workspaceId }) => nameOf(workspaceId) },
  { id: "settings", title: "Settings", cell: ({ config }) => <span className="quiet">{settingsText(config)}</span> },
];

/** Partial configurations that many experiments and tasks have under their own. */
export function TemplateList() {
  const { mayAnywhere } = useRights();
  const nameOf = useWorkspaceNames();
  const columns = useMemo(() => columnsWith(nameOf), [nameOf]);
  const [search, setSearch] = useParameter("search");
  const [creates, setCreates] = useState(false);
  const [list] = usePolled("templates", (signal) => get("/api/v1/templates", {}, signal), pollMs);
  const all = list.status === "loaded" ? list.value.templates : [];
  const matches = ({ name }: Template) => name.toLowerCase().includes(search.trim().toLowerCase());
  return (
    <>
      <PageHead
        title="Templates"
        actions={
          mayAnywhere("CREATE_TEMPLATES") && (
            <button type="button" className="primary" disabled={list.status !== "loaded"} onClick={() => setCreates(true)}>
              New template
            </button>
          )
        }
      >
        {list.status === "loaded" && <span className="quiet">{count(all.filter(matches).length, "template")}</span>}
      </PageHead>
      <p className="quiet">
        A template holds default configuration values. Experiments and tasks that name it use these values unless they set their own.
      </p>
      <search className="row filters">
        <input type="search" value={search} placeholder="Name" aria-label="Search by name" onChange={(event) => setSearch(event.target.value)} />
      </search>
      <Loaded of={list} what="templates">
        {({ templates }) => (
          <Table
            label="Templates"
            rows={templates.filter(matches)}
            columns={columns}
            rowKey={({ name }) => name}
            order="name"
            empty={search === "" ? "No templates yet." : "No templates match."}
          />
        )}
      </Loaded>
      {creates && <NewTemplate taken={all.map(({ name }) => name)} onClose={() => setCreates(false)} />}
    </>
  );
}

const example = "resources:\n  slots_per_trial: 1\n";

function NewTemplate({ taken, onClose }: { taken: readonly string[]; onClose: () => void }) {
  const [name, setName] = useState("");
  const [yaml, setYaml] = useState(example);
  const workspace = useWorkspaceChoice("CREATE_TEMPLATES");
  const problem = nameProblem(name, taken);
  const create = async () => {
    await put(one, { ...at(name.trim()), body: { config: yaml, ...(workspace.value === undefined ? {} : { workspaceId: workspace.value }) } });
    go({ page: "template", name: name.trim() });
  };
  return (
    <Dialog title="New template" action="Create" wide disabled={problem !== undefined || workspace.value === undefined} onAction={create} onClose={onClose}>
      <Field label="Name">
        <input value={name} required autoFocus onChange={(event) => setName(event.target.value)} />
      </Field>
      {name !== "" && problem !== undefined && <p className="quiet">{problem}</p>}
      <WorkspaceField choice={workspace} />
      <YamlField value={yaml} onChange={setYaml} />
    </Dialog>
  );
}
