import { type ReactNode, useState } from "react";
import { get, patch, post, remove } from "../../api/client";
import { toApiError, usePolled } from "../../api/loadable";
import { listWorkspaces } from "../../api/places";
import type { Project } from "../../api/types";
import { Dialog, Popup } from "../../components/forms/dialog";
import { Editable } from "../../components/forms/edit";
import { count } from "../../components/format";
import { useRights } from "../../components/people/me";
import { Age, Loaded, Pick, Problem } from "../../components/parts";
import { type ProjectTab, projectTabs } from "../../components/address/paths";
import { go, Link, Tabs } from "../../components/address/route";
import { PlaceLabels } from "./place_labels";
import { ProjectNotes } from "./project_notes";

const pollMs = 5000;

interface ProjectPageProps {
  readonly id: number;
  readonly tab: ProjectTab;
  /** The list of its experiments. */
  readonly experiments: ReactNode;
}

interface Owned {
  readonly project: Project;
  /** Who owns it or its workspace: the ids of users. */
  readonly owners: readonly number[];
}

async function load(id: number, signal: AbortSignal): Promise<Owned> {
  const { project } = await get("/api/v1/projects/{id}", { path: { id } }, signal);
  const { workspace } = await get("/api/v1/workspaces/{id}", { path: { id: project.workspaceId } }, signal);
  return { project: project as Project, owners: [project.userId, workspace.userId] };
}

/** One project: its experiments, and notes about them. */
export function ProjectPage({ id, tab, experiments }: ProjectPageProps) {
  const [loaded, reload] = usePolled(`project ${id}`, (signal) => load(id, signal), pollMs, undefined, { topics: ["experiments"], leastMs: 1000 });
  return (
    <>
      <Loaded of={loaded} what={`project ${id}`} title={`Project ${id}`}>
        {({ project, owners }) => (
          <>
            <Head project={project} owners={owners} reload={reload} />
            <Tabs label="Project sections">
              {projectTabs.map((name) => (
                <Link key={name} to={{ page: "project", id, tab: name }} current={name === tab}>
                  {name}
                </Link>
              ))}
            </Tabs>
            {tab === "experiments" ? experiments : <ProjectNotes project={project} owners={owners} reload={reload} />}
          </>
        )}
      </Loaded>
      {loaded.status === "failed" && <Link to={{ page: "workspaces" }}>All workspaces</Link>}
    </>
  );
}

type Asks = "move" | "delete";

function Head({ project, owners, reload }: Owned & { reload: () => void }) {
  const { id, name, key, description, archived, immutable, workspaceId, workspaceName } = project;
  const { may } = useRights();
  const [asks, setAsks] = useState<Asks>();
  const [problem, setProblem] = useState("");
  const subject = { workspace: workspaceId, owners };
  const changes = !immutable && may("UPDATE_PROJECT", subject);
  const deletes = !immutable && may("DELETE_PROJECT", subject);
  const save = (what: object) => patch("/api/v1/projects/{id}", { path: { id }, body: what }).then(reload);
  const run = (verb: "archive" | "unarchive") => {
    setProblem("");
    post(`/api/v1/projects/{id}/${verb}`, { path: { id } }).then(reload, (cause: unknown) => setProblem(toApiError(cause).message));
  };
  const editable = (what: string, value: string, shown: ReactNode, field: string) =>
    changes ? (
      <Editable what={what} value={value} onSave={(text) => save({ [field]: text.trim() })}>
        {shown}
      </Editable>
    ) : (
      shown
    );
  return (
    <header className="pagehead">
      <div className="row">
        <h1>
          <Link to={{ page: "workspace", id: workspaceId, tab: "projects" }} title="Its workspace">
            {workspaceName}
          </Link>{" "}
          <span className="quiet">/</span> {editable("name", name, name, "name")}
        </h1>
        <PlaceLabels place={project} />
        <div className="actions">
          {(changes || deletes) && (
            <Popup label="More">
              {changes && (
                <button
                  type="button"
                  title={archived ? "Accept new experiments again" : "Accept nothing new. Nothing is deleted."}
                  onClick={() => run(archived ? "unarchive" : "archive")}
                >
                  {archived ? "Unarchive" : "Archive"}
                </button>
              )}
              {changes && (
                <button type="button" onClick={() => setAsks("move")}>
                  Move to another workspace
                </button>
              )}
              {deletes && (
                <button type="button" onClick={() => setAsks("delete")}>
                  Delete
                </button>
              )}
            </Popup>
          )}
        </div>
      </div>
      <p>{editable("description", description, description || (changes ? <span className="quiet">No description</span> : ""), "description")}</p>
      <p className="quiet row">
        <span>key {editable("key", key, <span className="mono">{key}</span>, "key")}</span>
        <span>owner {project.username}</span>
        <span>
          {count(project.numExperiments, "experiment")}, {project.numActiveExperiments.toLocaleString("en-US")} active
        </span>
        {project.lastExperimentStartedAt && (
          <span>
            last started <Age time={project.lastExperimentStartedAt} />
          </span>
        )}
      </p>
      <Problem text={problem} />
      {asks === "delete" && (
        <Dialog
          title={`Delete project ${name}?`}
          action="Delete"
          danger
          disabled={project.numExperiments > 0}
          onAction={() => remove("/api/v1/projects/{id}", { path: { id } }).then(() => go({ page: "workspace", id: workspaceId, tab: "projects" }))}
          onClose={() => setAsks(undefined)}
        >
          {project.numExperiments > 0 ? (
            <p>The project holds {count(project.numExperiments, "experiment")}, including archived ones. Delete them or move them to another project first.</p>
          ) : (
            <p>The project has no experiments. Its notes are deleted too.</p>
          )}
        </Dialog>
      )}
      {asks === "move" && <MoveProject project={project} reload={reload} onClose={() => setAsks(undefined)} />}
    </header>
  );
}

function MoveProject({ project, reload, onClose }: { project: Project; reload: () => void; onClose: () => void }) {
  const [target, setTarget] = useState(0);
  const [list] = usePolled("open workspaces", (signal) => listWorkspaces(false, signal), 0, () => false);
  const move = () => post("/api/v1/projects/{projectId}/move", { path: { projectId: project.id }, body: { destinationWorkspaceId: target } }).then(reload);
  return (
    <Dialog title={`Move project ${project.name} to another workspace`} action="Move" disabled={target === 0} onAction={move} onClose={onClose}>
      <p className="quiet">Its {count(project.numExperiments, "experiment")} move with it. Users without a role in the other workspace can no longer see them.</p>
      <Loaded of={list} what="workspaces">
        {(workspaces) => (
          <Pick label="Workspace" asks autoFocus value={target} options={workspaces.filter(({ id }) => id !== project.workspaceId)} onChange={setTarget} />
        )}
      </Loaded>
    </Dialog>
  );
}
