import { useState } from "react";
import { usePolled } from "../../api/loadable";
import { count } from "../../components/format";
import { useMe, useRights } from "../../components/people/me";
import { Age, Choice, Loaded, PageHead, StateBadge } from "../../components/parts";
import { kindName, pathOf, taskKinds } from "../../components/address/paths";
import { Link, useParameter } from "../../components/address/route";
import { type Column, Table } from "../../components/tables/table";
import { canOpen, isOver, loadTasks, placeOf, type Task } from "./api";
import { KillDialog } from "./kill";
import { NewTask } from "./new_task";

const pollMs = 3000;

/** A link to the page that a notebook or TensorBoard serves, or to a terminal on a shell, in a new tab. */
export function OpenLink({ task }: { task: Task }) {
  const me = useMe();
  if (!canOpen(task, me) || !task.serviceAddress) return null;
  const address = task.type === "shell" ? pathOf({ page: "terminal", id: task.id }) : task.serviceAddress;
  return (
    <a href={address} target="_blank" rel="noreferrer" aria-label={`Open ${task.description || task.id}`}>
      Open
    </a>
  );
}

function columns(mayKill: (task: Task) => boolean, onKill: (task: Task) => void): readonly Column<Task>[] {
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
          {!isOver(task) && mayKill(task) && (
            <button type="button" className="text" aria-label={`Kill ${task.description || task.id}`} onClick={() => onKill(task)}>
              Kill
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
  const [starts, setStarts] = useState<"notebook" | "shell">();
  const [killed, setKilled] = useState<Task>();
  const { may, mayAnywhere } = useRights();
  const [list, reload] = usePolled("tasks", loadTasks, pollMs, undefined, { topics: ["cluster"], leastMs: 500 });
  const shown = (tasks: readonly Task[]) => tasks.filter((task) => (kind === "" || task.type === kind) && (all !== "" || !isOver(task)));
  const shownColumns = columns((task) => may("UPDATE_NSC", placeOf(task)), setKilled);
  return (
    <>
      <PageHead
        title="Tasks"
        actions={
          mayAnywhere("CREATE_NSC") && (
            <>
              <button type="button" onClick={() => setStarts("shell")}>
                New shell
              </button>
              <button type="button" className="primary" onClick={() => setStarts("notebook")}>
                New notebook
              </button>
            </>
          )
        }
      >
        {list.status === "loaded" && <span className="quiet">{count(shown(list.value).length, "task")}</span>}
      </PageHead>
      <search className="row filters">
        <Choice label="Kind" value={kind} options={[["", "all"], ...taskKinds.map((one) => [one, kindName(one)] as const)]} onChange={setKind} />
        <Choice label="State" value={all} options={[["", "active"], ["yes", "all"]]} onChange={setAll} />
      </search>
      <Loaded of={list} what="tasks">
        {(tasks) => (
          <Table
            label="Tasks"
            rows={shown(tasks)}
            columns={shownColumns}
            rowKey={({ id }) => id}
            order="-started"
            empty="No tasks. Start a notebook or shell here, a TensorBoard from an experiment, or a command with det command run."
          />
        )}
      </Loaded>
      {killed !== undefined && <KillDialog task={killed} onDone={reload} onClose={() => setKilled(undefined)} />}
      {starts !== undefined && <NewTask kind={starts} onClose={() => setStarts(undefined)} />}
    </>
  );
}
