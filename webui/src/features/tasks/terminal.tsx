import { useRef, useState } from "react";
import { usePolled } from "../../api/loadable";
import { useMe } from "../../components/people/me";
import { Loaded, PageHead, StateBadge } from "../../components/parts";
import { Link } from "../../components/address/route";
import { canOpen, isOver, loadTask, mayUse, type Task } from "./api";
import { webSocketAddress } from "./shell_protocol";
import { type End, ShellScreen } from "./shell_screen";

const pollMs = 2000;

/** A terminal on a shell of the cluster. */
export function TerminalPage({ id }: { id: string }) {
  const [loaded] = usePolled(`task ${id}`, (signal) => loadTask("shell", id, signal), pollMs, (task) => !isOver(task));
  return (
    <Loaded of={loaded} what="shell" title={`Shell ${id}`}>
      {(task) => <Whole task={task} />}
    </Loaded>
  );
}

function Whole({ task }: { task: Task }) {
  const me = useMe();
  const [round, setRound] = useState(0);
  const [end, setEnd] = useState<End>();
  const head = useRef<HTMLDivElement>(null);
  const again = () => {
    setEnd(undefined);
    setRound((n) => n + 1);
  };
  const opens = canOpen(task, me);
  // What was on the screen stays there when Task details is over.
  const opened = useRef(false);
  opened.current ||= opens;
  return (
    <>
      <div ref={head} tabIndex={-1}>
        <PageHead
          title={task.description || "Shell"}
          actions={<Link to={{ page: "task", kind: "shell", id: task.id }}>Task details</Link>}
        >
          <StateBadge state={task.state} />
          {opens && <span className="quiet">Shift+Esc leaves the terminal, Ctrl+Shift+C copies</span>}
        </PageHead>
      </div>
      {!opens && <p role="status">{whyNot(task, mayUse(task, me))}</p>}
      {opened.current && task.serviceAddress && (
        <>
          {end !== undefined && (
            <p className="row" role="status">
              {end.status === undefined ? "The connection to the shell was lost." : `The shell ended with status ${end.status}.`}
              {opens && (
                <button type="button" className="primary" autoFocus onClick={again}>
                  Open another
                </button>
              )}
            </p>
          )}
          <ShellScreen
            key={round}
            address={webSocketAddress(task.serviceAddress, location.href)}
            onEnd={setEnd}
            onLeave={() => head.current?.focus()}
          />
        </>
      )}
    </>
  );
}

function whyNot(task: Task, allowed: boolean): string {
  if (!allowed) return `This shell is ${task.username}'s. Only its owner and administrators can use it.`;
  if (isOver(task)) return `The shell has ended: ${task.exitStatus}`;
  return `The shell is not ready yet. ${task.waitingReason}`;
}
