import { useMemo, useState } from "react";
import { get, post } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Model } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { count } from "../../components/format";
import { useRights } from "../../components/people/me";
import { Age, Choice, Field, Labels, Loaded, PageHead } from "../../components/parts";
import { go, Link, useParameter } from "../../components/address/route";
import { type Column, Table } from "../../components/tables/table";
import { useWorkspaceChoice, useWorkspaceNames, WorkspaceField } from "../../components/forms/workspace_choice";

const columnsWith = (nameOf: (workspace: number) => string): readonly Column<Model>[] => [
  {
    id: "name",
    title: "Name",
    value: ({ name }) => name,
    cell: ({ name, archived }) => (
      <>
        <Link to={{ page: "model", name }}>{name}</Link> {archived && <span className="label">archived</span>}
      </>
    ),
  },
  { id: "description", title: "Description", value: ({ description }) => description, cell: ({ description }) => <span className="ellipsis quiet">{description}</span> },
  { id: "workspace", title: "Workspace", value: ({ workspaceId }) => nameOf(workspaceId), cell: ({ workspaceId }) => nameOf(workspaceId) },
  { id: "labels", title: "Labels", cell: ({ labels }) => <Labels labels={labels} /> },
  { id: "versions", title: "Versions", number: true, value: ({ numVersions }) => numVersions, cell: ({ numVersions }) => numVersions },
  {
    id: "updated",
    title: "Changed",
    value: ({ lastUpdatedTime }) => Date.parse(lastUpdatedTime),
    cell: ({ lastUpdatedTime }) => <Age time={lastUpdatedTime} />,
  },
  { id: "user", title: "User", value: ({ username }) => username, cell: ({ username }) => username },
];

/** The model registry: names under which good checkpoints are kept. */
export function ModelList() {
  const [search, setSearch] = useParameter("search");
  const [archived, setArchived] = useParameter("archived");
  const [workspace, setWorkspace] = useParameter("workspace");
  const [creates, setCreates] = useState(false);
  const { mayAnywhere } = useRights();
  const nameOf = useWorkspaceNames();
  const columns = useMemo(() => columnsWith(nameOf), [nameOf]);
  const parameters = { name: search, ...(workspace === "" ? {} : { workspaceIds: [Number(workspace)] }), ...(archived === "all" ? {} : { archived: archived === "yes" }) };
  const [list] = usePolled(
    `models ${search} ${archived} ${workspace}`,
    (signal) => get("/api/v1/models", { query: parameters }, signal),
    5000,
  );
  return (
    <>
      <PageHead
        title="Models"
        actions={
          mayAnywhere("CREATE_MODEL_REGISTRY") && (
            <button type="button" className="primary" onClick={() => setCreates(true)}>
              New model
            </button>
          )
        }
      >
        {list.status === "loaded" && <span className="quiet">{count(list.value.models.length, "model")}</span>}
      </PageHead>
      <search className="row filters">
        <input type="search" value={search} placeholder="Name" aria-label="Search by name" onChange={(event) => setSearch(event.target.value)} />
        <Choice label="Archived" value={archived} options={[["", "no"], ["yes", "yes"], ["all", "both"]]} onChange={setArchived} />
        {workspace !== "" && (
          <button type="button" onClick={() => setWorkspace("")} aria-label="Remove the filter by workspace">
            {nameOf(Number(workspace))} ×
          </button>
        )}
      </search>
      <Loaded of={list} what="models">
        {({ models }) => (
          <Table
            label="Models"
            rows={models}
            columns={columns}
            rowKey={({ id }) => id}
            order="-updated"
            empty={search === "" ? "No models yet. Create a model to version checkpoints worth keeping." : "No models match."}
          />
        )}
      </Loaded>
      {creates && <NewModel onClose={() => setCreates(false)} />}
    </>
  );
}

function NewModel({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const workspace = useWorkspaceChoice("CREATE_MODEL_REGISTRY");
  const create = async () => {
    await post("/api/v1/models", { body: { name: name.trim(), description, ...(workspace.value === undefined ? {} : { workspaceId: workspace.value }) } });
    go({ page: "model", name: name.trim() });
  };
  return (
    <Dialog title="New model" action="Create" disabled={name.trim() === "" || workspace.value === undefined} onAction={create} onClose={onClose}>
      <Field label="Name">
        <input value={name} required autoFocus onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label="Description">
        <input value={description} onChange={(event) => setDescription(event.target.value)} />
      </Field>
      <WorkspaceField choice={workspace} />
    </Dialog>
  );
}
