import { useState } from "react";
import { toApiError, usePolled } from "../../api/loadable";
import { Dialog } from "../../components/dialog";
import { count } from "../../components/format";
import { Age, Choice, Field, Loaded, PageHead, Problem, StateBadge } from "../../components/parts";
import { kindName, taskKinds } from "../../components/paths";
import { go, Link, useParameter } from "../../components/route";
import { type Column, Table } from "../../components/table";
import { hasPage, isOver, killTask, loadTasks, startTask, type Task } from "./api";

const pollMs = 3000;

/** A link to the page that a notebook or TensorBoard serves, in a new tab. */
export function OpenLink({ task }: { task: Task }) {
  if (!hasPage(task) || !task.serviceAddress) return null;
  return (
    <a href={task.serviceAddress} target="_blank" rel="noreferrer">
      open
    </a>
  );
}

function columns(onKill: (task: Task) => void): readonly Column<Task>[] {
  return [
    { id: "type", title: "Kind", value: ({ type }) => type, cell: ({ type }) => kindName(type) },
    {
      id: "description",
      title: "Description",
      value: ({ description }) => description,
      cell: ({ id, type, description }) => <Link to={{ page: "task", kind: type, id }}>{description || id}</Link>,
    },
    { id: "state", title: "State", value: ({ state }) => state, cell: ({ state }) => <StateBadge state={state} /> },
    {
      id: "page",
      title: "",
      cell: (task) => (
        <>
          <OpenLink task={task} />{" "}
          {!isOver(task) && (
            <button type="button" className="text" aria-label={`Kill ${task.description || task.id}`} onClick={() => onKill(task)}>
              kill
            </button>
          )}
        </>
      ),
    },
    { id: "why", title: "", cell: (task) => <span className="quiet ellipsis">{isOver(task) ? task.exitStatus : task.waitingReason}</span> },
    { id: "slots", title: "Slots", number: true, value: ({ slots }) => slots, cell: ({ slots }) => slots },
    { id: "user", title: "User", value: ({ username }) => username, cell: ({ username }) => username },
    { id: "started", title: "Started", value: ({ startTime }) => Date.parse(startTime), cell: ({ startTime }) => <Age time={startTime} /> },
  ];
}

/** Notebooks, TensorBoards, shells and commands. */
export function TaskList() {
  const [kind, setKind] = useParameter("kind");
  const [all, setAll] = useParameter("all");
  const [starts, setStarts] = useState(false);
  const [problem, setProblem] = useState("");
  const [list, reload] = usePolled("tasks", loadTasks, pollMs);
  const shown = (tasks: readonly Task[]) => tasks.filter((task) => (kind === "" || task.type === kind) && (all !== "" || !isOver(task)));
  const kill = (task: Task) => {
    setProblem("");
    killTask(task).then(reload, (cause: unknown) => setProblem(toApiError(cause).message));
  };
  return (
    <>
      <PageHead
        title="Tasks"
        actions={
          <button type="button" className="primary" onClick={() => setStarts(true)}>
            New notebook
          </button>
        }
      >
        {list.status === "loaded" && <span className="quiet">{count(shown(list.value).length, "task")}</span>}
      </PageHead>
      <search className="row filters">
        <Choice label="Kind" value={kind} options={[["", "all"], ...taskKinds.map((one) => [one, kindName(one)] as const)]} onChange={setKind} />
        <Choice label="State" value={all} options={[["", "not over"], ["yes", "all"]]} onChange={setAll} />
      </search>
      <Problem text={problem} />
      <Loaded of={list} what="tasks">
        {(tasks) => (
          <Table
            label="Tasks"
            rows={shown(tasks)}
            columns={columns(kill)}
            rowKey={({ id }) => id}
            order="-started"
            empty="No tasks. A notebook is started here, a TensorBoard on the page of an experiment, shells and commands with det shell start and det command run."
          />
        )}
      </Loaded>
      {starts && <NewNotebook onClose={() => setStarts(false)} />}
    </>
  );
}

function NewNotebook({ onClose }: { onClose: () => void }) {
  const [description, setDescription] = useState("");
  const [slots, setSlots] = useState("0");
  const valid = /^\d+$/.test(slots);
  const start = async () => {
    const id = await startTask("notebook", {
      config: { ...(description.trim() === "" ? {} : { description: description.trim() }), resources: { slots: Number(slots) } },
    });
    go({ page: "task", kind: "notebook", id });
  };
  return (
    <Dialog title="New notebook" action="Start" disabled={!valid} onAction={start} onClose={onClose}>
      <Field label="Description">
        <input value={description} autoFocus onChange={(event) => setDescription(event.target.value)} />
      </Field>
      <Field label="Slots">
        <input type="number" min={0} value={slots} onChange={(event) => setSlots(event.target.value)} />
      </Field>
    </Dialog>
  );
}
