import { useState } from "react";
import { post } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { listWorkspaces } from "../../api/places";
import type { Workspace } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { count } from "../../components/format";
import { useRights } from "../../components/people/me";
import { Choice, Field, Loaded, PageHead } from "../../components/parts";
import { go, Link, useParameter } from "../../components/address/route";
import { SearchField } from "../../components/forms/search_field";
import { type Column, Table } from "../../components/tables/table";
import { archivedFilter, found, pinnedFirst } from "./arrange";
import { PlaceLabels } from "./place_labels";

const pollMs = 5000;

const columns: readonly Column<Workspace>[] = [
  {
    id: "name",
    title: "Name",
    value: pinnedFirst,
    cell: (workspace) => (
      <>
        <Link to={{ page: "workspace", id: workspace.id, tab: "projects" }}>{workspace.name}</Link>
        {workspace.pinned && <span className="label">pinned</span>}
        <PlaceLabels place={workspace} />
      </>
    ),
  },
  { id: "projects", title: "Projects", number: true, value: ({ numProjects }) => numProjects, cell: ({ numProjects }) => numProjects },
  {
    id: "experiments",
    title: "Experiments",
    number: true,
    value: ({ numExperiments }) => numExperiments,
    cell: ({ numExperiments }) => numExperiments.toLocaleString("en-US"),
  },
  { id: "owner", title: "Owner", value: ({ username }) => username, cell: ({ username }) => username },
  { id: "pool", title: "Default pool", value: ({ defaultComputePool }) => defaultComputePool, cell: ({ defaultComputePool }) => defaultComputePool },
];

/** All workspaces that one may see. */
export function WorkspaceList() {
  const { may, rbac } = useRights();
  const [search, setSearch] = useParameter("search");
  const [archived, setArchived] = useParameter("archived");
  const [creates, setCreates] = useState(false);
  const [list] = usePolled(`workspaces ${archived}`, (signal) => listWorkspaces(archivedFilter(archived), signal), pollMs);
  return (
    <>
      <PageHead
        title="Workspaces"
        actions={
          may("CREATE_WORKSPACE") && (
            <button type="button" className="primary" onClick={() => setCreates(true)}>
              New workspace
            </button>
          )
        }
      >
        {list.status === "loaded" && <span className="quiet">{count(list.value.length, "workspace")}</span>}
      </PageHead>
      <search className="row filters">
        <SearchField text={search} onSearch={setSearch} placeholder="Name or owner" label="Search by name or owner" />
        <Choice label="Archived" value={archived} options={[["", "no"], ["yes", "yes"], ["all", "both"]]} onChange={setArchived} />
      </search>
      <Loaded of={list} what="workspaces">
        {(workspaces) => (
          <Table
            label="Workspaces"
            rows={workspaces.filter((workspace) => found(search, workspace.name, workspace.username))}
            columns={columns}
            rowKey={({ id }) => id}
            order="name"
            empty={
              workspaces.length > 0 || archived !== ""
                ? "No workspaces match."
                : rbac
                  ? "You have no role in any workspace. Ask a workspace administrator to add you on its Members tab."
                  : "No workspaces."
            }
          />
        )}
      </Loaded>
      {creates && <NewWorkspace onClose={() => setCreates(false)} />}
    </>
  );
}

function NewWorkspace({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const create = async () => {
    const { workspace } = await post("/api/v1/workspaces", { body: { name: name.trim() } });
    go({ page: "workspace", id: workspace.id, tab: "projects" });
  };
  return (
    <Dialog title="New workspace" action="Create" disabled={name.trim() === ""} onAction={create} onClose={onClose}>
      <p className="quiet">A workspace groups the projects of a team. You become its owner.</p>
      <Field label="Name">
        <input value={name} required autoFocus maxLength={80} onChange={(event) => setName(event.target.value)} />
      </Field>
    </Dialog>
  );
}
