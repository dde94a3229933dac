import { useEffect, useState } from "react";
import { follow } from "../../api/client";
import { toApiError } from "../../api/loadable";
import { printable } from "../../components/format";
import { Problem } from "../../components/parts";

interface Entry {
  readonly logEntry: { readonly id: number; readonly message: string; readonly timestamp: string; readonly level: string };
}

const linesMax = 1000;

/** The newest lines of the master's own log, and new ones as they come. */
export function MasterLog() {
  const [lines, setLines] = useState<readonly Entry["logEntry"][]>([]);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    const newest = () => {
      setLines([]);
      return { offset: -linesMax, follow: true };
    };
    const take = (items: Entry[]) =>
      setLines((before) => [...before, ...items.map(({ logEntry }) => logEntry)].slice(-linesMax));
    follow<Entry>("master/logs", newest, abort.signal, take, setProblem).catch((cause: unknown) => !abort.signal.aborted && setProblem(toApiError(cause).message));
    return () => abort.abort();
  }, []);
  return (
    <section aria-label="Master log">
      <Problem text={problem} />
      {lines.length === 0 && problem === "" && <p className="quiet">No lines yet.</p>}
      {lines.length > 0 && (
        <pre className="code" tabIndex={0}>
          {lines.map(({ timestamp, level, message }) => `${timestamp.slice(0, 19)} ${level.replace("LOG_LEVEL_", "").toLowerCase()} ${printable(message)}`).join("\n")}
        </pre>
      )}
    </section>
  );
}
