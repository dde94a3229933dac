import { useState } from "react";
import { put } from "../../api/client";
import { toApiError } from "../../api/loadable";
import type { Project, ProjectNote } from "../../api/types";
import { Editable } from "../../components/forms/edit";
import { Prose } from "../../components/markdown/prose";
import { useRights } from "../../components/people/me";
import { Problem } from "../../components/parts";

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
  const save = (all: readonly ProjectNote[]) => put("/api/v1/projects/{projectId}/notes", { path: { projectId: id }, body: { notes: all } }).then(reload);
  const run = (all: readonly ProjectNote[]) => {
    setProblem("");
    save(all).catch((cause: unknown) => setProblem(toApiError(cause).message));
  };
  return (
    <>
      <Problem text={problem} />
      {notes.length === 0 && <p className="quiet">No notes yet.{immutable ? " This project cannot be changed. Create your own project to add notes." : ""}</p>}
      {notes.map((note, index) => (
        <Note
          key={index}
          note={note}
          changes={changes}
          onSave={(change) => save(notes.map((other, i) => (i === index ? { ...other, ...change } : other)))}
          onDelete={() => run(notes.filter((_, i) => i !== index))}
        />
      ))}
      {changes && (
        <button type="button" onClick={() => run([...notes, { name: `Note ${notes.length + 1}`, contents: "" }])}>
          New note
        </button>
      )}
    </>
  );
}

interface NoteProps {
  readonly note: ProjectNote;
  readonly changes: boolean;
  readonly onSave: (change: Partial<ProjectNote>) => Promise<void>;
  readonly onDelete: () => void;
}

function Note({ note: { name, contents }, changes, onSave, onDelete }: NoteProps) {
  const title = name || "Note";
  if (!changes)
    return (
      <section className="panel" aria-label={title}>
        <h2>{title}</h2>
        <Prose text={contents} />
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
        {contents === "" ? <span className="quiet">No notes yet.</span> : <Prose text={contents} />}
      </Editable>
    </section>
  );
}
