import { useState } from "react";
import { usePolled } from "../../api/loadable";
import { Logs } from "../../components/logs/logs";
import { useRights } from "../../components/people/me";
import { Age, Loaded, PageHead, Pairs, StateBadge } from "../../components/parts";
import { kindName, type TaskKind } from "../../components/address/paths";
import { Link } from "../../components/address/route";
import { isOver, loadTask, placeOf, type Task } from "./api";
import { KillDialog } from "./kill";
import { OpenLink } from "./tasks";

/** One notebook, TensorBoard, shell or command: what it is, where it is open, and what it printed. */
export function TaskPage({ kind, id }: { kind: TaskKind; id: string }) {
  const [loaded, reload] = usePolled(`task ${id}`, (signal) => loadTask(kind, id, signal), 2000, (task) => !isOver(task), { topics: ["cluster"], leastMs: 500 });
  return (
    <Loaded of={loaded} what={kindName(kind)} title={`${kindName(kind)} ${id}`}>
      {(task) => <Whole task={task} reload={reload} />}
    </Loaded>
  );
}

function Whole({ task, reload }: { task: Task; reload: () => void }) {
  const [asks, setAsks] = useState(false);
  const { may } = useRights();
  return (
    <>
      <PageHead
        title={task.description || `${kindName(task.type)} ${task.id}`}
        actions={
          <>
            <OpenLink task={task} />
            {!isOver(task) && may("UPDATE_NSC", placeOf(task)) && (
              <button type="button" onClick={() => setAsks(true)}>
                Kill
              </button>
            )}
          </>
        }
      >
        <StateBadge state={task.state} />
      </PageHead>
      {asks && <KillDialog task={task} onDone={reload} onClose={() => setAsks(false)} />}
      <Pairs rows={facts(task)} />
      <Logs of={{ task: task.id }} command={`det task logs ${task.id}`} live={!isOver(task)} />
    </>
  );
}

function facts(task: Task): readonly (readonly [string, React.ReactNode])[] {
  const of = [
    ...(task.experimentIds ?? []).map((id) => ({ page: "experiment", id, tab: "overview" }) as const),
    ...(task.trialIds ?? []).map((id) => ({ page: "trial", id, tab: "overview" }) as const),
  ];
  return [
    ["Kind", kindName(task.type)],
    ["User", task.username],
    ["Pool", `${task.resourcePool}, ${task.slots === 1 ? "1 slot" : `${task.slots} slots`}`],
    ["Started", <Age key="age" time={task.startTime} />],
    ...(of.length > 0
      ? [["Shows", of.map((view) => <Link key={`${view.page}${view.id}`} to={view}>{`${view.page} ${view.id} `}</Link>)] as const]
      : []),
    ...(task.type === "shell" && !isOver(task) ? [["In your own terminal", <code key="open">det shell open {task.id}</code>] as const] : []),
    ...(task.waitingReason && !isOver(task) ? [["Waiting", task.waitingReason] as const] : []),
    ...(isOver(task) ? [["Ended", task.exitStatus] as const] : []),
  ];
}
