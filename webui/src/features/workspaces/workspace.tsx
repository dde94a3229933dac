import { useState } from "react";
import { get, patch, post, remove } from "../../api/client";
import { toApiError, usePolled } from "../../api/loadable";
import { listProjects } from "../../api/places";
import type { Project, Workspace } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { Editable } from "../../components/forms/edit";
import { count } from "../../components/format";
import { useRights } from "../../components/people/me";
import { Age, Choice, Field, Loaded, Problem } from "../../components/parts";
import { type WorkspaceTab, workspaceTabs } from "../../components/address/paths";
import { go, Link, Tabs, useParameter } from "../../components/address/route";
import { SearchField } from "../../components/forms/search_field";
import { type Column, Table } from "../../components/tables/table";
import { archivedFilter, found } from "./arrange";
import { Members } from "./members";
import { PlaceLabels } from "./place_labels";
import { WorkspacePolicies } from "./workspace_policies";

const pollMs = 5000;

/** One workspace: its projects, and who may do what in it. */
export function WorkspacePage({ id, tab }: { id: number; tab: WorkspaceTab }) {
  const [loaded, reload] = usePolled(
    `workspace ${id}`,
    async (signal) => (await get("/api/v1/workspaces/{id}", { path: { id } }, signal)).workspace,
    pollMs,
  );
  return (
    <>
      <Loaded of={loaded} what={`workspace ${id}`} title={`Workspace ${id}`}>
        {(workspace) => (
          <>
            <Head workspace={workspace} reload={reload} />
            <Tabs label="Workspace sections">
              {workspaceTabs.map((name) => (
                <Link key={name} to={{ page: "workspace", id, tab: name }} current={name === tab}>
                  {name}
                </Link>
              ))}
            </Tabs>
            {tab === "projects" && <Projects workspace={workspace} />}
            {tab === "members" && <Members workspace={workspace} />}
            {tab === "policies" && <WorkspacePolicies workspace={workspace} />}
          </>
        )}
      </Loaded>
      {loaded.status === "failed" && <Link to={{ page: "workspaces" }}>All workspaces</Link>}
    </>
  );
}

function Head({ workspace, reload }: { workspace: Workspace; reload: () => void }) {
  const { id, name, archived, immutable, pinned } = workspace;
  const { may } = useRights();
  const [problem, setProblem] = useState("");
  const [deletes, setDeletes] = useState(false);
  const subject = { workspace: id, owners: [workspace.userId] };
  const changes = !immutable && may("UPDATE_WORKSPACE", subject);
  const run = (verb: "archive" | "unarchive" | "pin" | "unpin") => {
    setProblem("");
    post(`/api/v1/workspaces/{id}/${verb}`, { path: { id } }).then(reload, (cause: unknown) => setProblem(toApiError(cause).message));
  };
  return (
    <header className="pagehead">
      <div className="row">
        <h1>
          <span className="quiet">Workspace</span>{" "}
          {changes ? (
            <Editable what="name" value={name} onSave={(text) => patch("/api/v1/workspaces/{id}", { path: { id }, body: { name: text.trim() } }).then(reload)}>
              {name}
            </Editable>
          ) : (
            name
          )}
        </h1>
        <PlaceLabels place={workspace} />
        <div className="actions">
          <button type="button" title={pinned ? "Unpin from the top of the list" : "Pin to the top of the list"} onClick={() => run(pinned ? "unpin" : "pin")}>
            {pinned ? "Unpin" : "Pin"}
          </button>
          {changes && (
            <button
              type="button"
              title={archived ? "Accept new projects and experiments again" : "Accept nothing new. Nothing is deleted."}
              onClick={() => run(archived ? "unarchive" : "archive")}
            >
              {archived ? "Unarchive" : "Archive"}
            </button>
          )}
          {!immutable && may("DELETE_WORKSPACE", subject) && (
            <button type="button" onClick={() => setDeletes(true)}>
              Delete
            </button>
          )}
        </div>
      </div>
      <p className="quiet row">
        <span>owner {workspace.username}</span>
        <span>
          {count(workspace.numProjects, "project")}, {count(workspace.numExperiments, "experiment")}
        </span>
        {immutable && <span>default workspace; it cannot be changed</span>}
      </p>
      <Problem text={problem} />
      {deletes && (
        <Dialog
          title={`Delete workspace ${name}?`}
          action="Delete"
          danger
          disabled={workspace.numProjects > 0}
          onAction={() => remove("/api/v1/workspaces/{id}", { path: { id } }).then(() => go({ page: "workspaces" }))}
          onClose={() => setDeletes(false)}
        >
          {workspace.numProjects > 0 ? (
            <p>The workspace holds {count(workspace.numProjects, "project")}. Delete them or move them to another workspace first.</p>
          ) : (
            <p>The workspace is empty. Its role assignments are deleted too.</p>
          )}
        </Dialog>
      )}
    </header>
  );
}

const columns: readonly Column<Project>[] = [
  {
    id: "name",
    title: "Name",
    value: ({ name }) => name.toLowerCase(),
    cell: (project) => (
      <>
        <Link to={{ page: "project", id: project.id, tab: "experiments" }}>{project.name}</Link>
        <PlaceLabels place={project} />
      </>
    ),
  },
  { id: "key", title: "Key", value: ({ key }) => key, cell: ({ key }) => <span className="mono">{key}</span> },
  {
    id: "description",
    title: "Description",
    value: ({ description }) => description,
    cell: ({ description }) => (
      <span className="ellipsis quiet" title={description}>
        {description}
      </span>
    ),
  },
  {
    id: "experiments",
    title: "Experiments",
    number: true,
    value: ({ numExperiments }) => numExperiments,
    cell: ({ numExperiments }) => numExperiments.toLocaleString("en-US"),
  },
  {
    id: "active",
    title: "Active",
    number: true,
    value: ({ numActiveExperiments }) => numActiveExperiments,
    cell: ({ numActiveExperiments }) => numActiveExperiments,
  },
  {
    id: "last",
    title: "Last experiment",
    value: ({ lastExperimentStartedAt }) => Date.parse(lastExperimentStartedAt ?? ""),
    cell: ({ lastExperimentStartedAt }) => <Age time={lastExperimentStartedAt} />,
  },
  { id: "owner", title: "Owner", value: ({ username }) => username, cell: ({ username }) => username },
];

function Projects({ workspace }: { workspace: Workspace }) {
  const { may } = useRights();
  const [search, setSearch] = useParameter("search");
  const [archived, setArchived] = useParameter("archived");
  const [creates, setCreates] = useState(false);
  const [list] = usePolled(
    `projects ${workspace.id} ${archived}`,
    (signal) => listProjects(workspace.id, archivedFilter(archived), signal),
    pollMs,
  );
  const mayCreate = may("CREATE_PROJECT", { workspace: workspace.id });
  return (
    <>
      <search className="row filters">
        <SearchField text={search} onSearch={setSearch} placeholder="Name, key or description" label="Search by name, key or description" />
        <Choice label="Archived" value={archived} options={[["", "no"], ["yes", "yes"], ["all", "both"]]} onChange={setArchived} />
        <div className="actions">
          {mayCreate && !workspace.archived && (
            <button type="button" className="primary" onClick={() => setCreates(true)}>
              New project
            </button>
          )}
        </div>
      </search>
      <Loaded of={list} what="projects">
        {(projects) => (
          <Table
            label="Projects"
            rows={projects.filter(({ name, key, description }) => found(search, name, key, description))}
            columns={columns}
            rowKey={({ id }) => id}
            order="name"
            empty={
              projects.length > 0 || archived !== ""
                ? "No projects match."
                : workspace.archived
                  ? "The workspace and its projects are archived. To show them, set Archived to “both”."
                  : `No projects yet.${mayCreate ? " A project groups related experiments. Create one with New project." : ""}`
            }
          />
        )}
      </Loaded>
      {creates && <NewProject workspace={workspace} onClose={() => setCreates(false)} />}
    </>
  );
}

function NewProject({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [key, setKey] = useState("");
  const create = async () => {
    const made = await post("/api/v1/workspaces/{workspaceId}/projects", { path: { workspaceId: workspace.id }, body: { name: name.trim(), description, key: key.trim() } });
    go({ page: "project", id: made.project.id, tab: "experiments" });
  };
  return (
    <Dialog title={`New project in ${workspace.name}`} action="Create" disabled={name.trim() === ""} onAction={create} onClose={onClose}>
      <Field label="Name">
        <input value={name} required autoFocus onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label="Description">
        <input value={description} onChange={(event) => setDescription(event.target.value)} />
      </Field>
      <Field label="Key: up to five letters and digits (empty: derived from the name)">
        <input value={key} maxLength={5} pattern="[A-Z0-9]*" onChange={(event) => setKey(event.target.value.toUpperCase())} />
      </Field>
    </Dialog>
  );
}
