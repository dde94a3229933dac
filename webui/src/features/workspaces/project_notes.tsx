import { useState } from "react";
import { ApiError, get, put } from "../../api/client";
import { toApiError } from "../../api/loadable";
import type { Project, ProjectNote } from "../../api/types";
import { Editable } from "../../components/forms/edit";
import { Prose } from "../../components/markdown/prose";
import { useRights } from "../../components/people/me";
import { Problem } from "../../components/parts";

/** Notes are stored all at once: what others have written since is kept. */
async function changeNotes(projectId: number, how: (now: readonly ProjectNote[]) => readonly ProjectNote[]): Promise<void> {
  const { project } = await get("/api/v1/projects/{id}", { path: { id: projectId } });
  await put("/api/v1/projects/{projectId}/notes", { path: { projectId }, body: { notes: how((project as Project).notes) } });
}

/** The notes with others in the place of one, which must be as it was when it was changed. */
function withNote(now: readonly ProjectNote[], index: number, before: ProjectNote, after: readonly ProjectNote[]): ProjectNote[] {
  const there = now[index];
  if (there === undefined || there.name !== before.name || there.contents !== before.contents)
    throw new ApiError(409, "Somebody else has changed this note in the meantime. Copy what you wrote, close the field, and make your change again.");
  return [...now.slice(0, index), ...after, ...now.slice(index + 1)];
}

interface ProjectNotesProps {
  readonly project: Project;
  readonly owners: readonly number[];
  readonly reload: () => void;
}

/** Notes of a project: as many as one likes, each with a title. */
export function ProjectNotes({ project, owners, reload }: ProjectNotesProps) {
  const { id, notes, immutable, workspaceId } = project;
  const { may } = useRights();
  const [problem, setProblem] = useState("");
  const changes = !immutable && may("UPDATE_PROJECT", { workspace: workspaceId, owners });
  const save = (how: (now: readonly ProjectNote[]) => readonly ProjectNote[]) => changeNotes(id, how).finally(reload);
  const run = (how: (now: readonly ProjectNote[]) => readonly ProjectNote[]) => {
    setProblem("");
    save(how).catch((cause: unknown) => setProblem(toApiError(cause).message));
  };
  return (
    <>
      <Problem text={problem} />
      {notes.length === 0 && <p className="quiet">No notes yet.{changes ? " A note is text in Markdown, with panels: charts of the project's experiments that you arrange." : ""}{immutable ? " This project cannot be changed. Create your own project to add notes." : ""}</p>}
      {notes.map((note, index) => (
        <Note
          key={index}
          note={note}
          projectId={id}
          changes={changes}
          onSave={(change) => save((now) => withNote(now, index, note, [{ ...note, ...change }]))}
          onDelete={() => run((now) => withNote(now, index, note, []))}
        />
      ))}
      {changes && (
        <button type="button" onClick={() => run((now) => [...now, { name: `Note ${now.length + 1}`, contents: "" }])}>
          New note
        </button>
      )}
    </>
  );
}

interface NoteProps {
  readonly note: ProjectNote;
  readonly projectId: number;
  readonly changes: boolean;
  readonly onSave: (change: Partial<ProjectNote>) => Promise<void>;
  readonly onDelete: () => void;
}

function Note({ note: { name, contents }, projectId, changes, onSave, onDelete }: NoteProps) {
  const title = name || "Note";
  if (!changes)
    return (
      <section className="panel" aria-label={title}>
        <h2>{title}</h2>
        <Prose text={contents} projectId={projectId} />
      </section>
    );
  return (
    <section className="panel" aria-label={title}>
      <header className="row">
        <h2>
          <Editable what={`title of ${title}`} value={name} onSave={(text) => onSave({ name: text.trim() })}>
            {title}
          </Editable>
        </h2>
        <div className="actions">
          <button type="button" className="text" aria-label={`Delete the note ${title}`} onClick={onDelete}>
            Delete
          </button>
        </div>
      </header>
      <Editable what={`text of ${title}`} value={contents} multiline onSave={(text) => onSave({ contents: text })}>
        {contents === "" && <span className="quiet">Click ✎ to write, in Markdown, or add panels: charts of the project's experiments.</span>}
        <Prose text={contents} projectId={projectId} onChange={(text) => onSave({ contents: text })} />
      </Editable>
    </section>
  );
}
