import { useMemo } from "react";
import { diffOf } from "./differences";

const words = { "+": "added", "-": "removed", " ": "", "…": "" } as const;

/** What differs between two texts, as `diff -u` shows it. `label` names it for those who do not see it. */
export default function DiffView({ before, after, label, same }: { before: string; after: string; label: string; same: string }) {
  const lines = useMemo(() => diffOf(before, after), [before, after]);
  if (lines.length === 0) return <p className="quiet">{same}</p>;
  return (
    <pre className="code diff" tabIndex={0} role="region" aria-label={label}>
      {lines.map(({ mark, text }, at) => (
        <span key={at} className={mark === "+" ? "added" : mark === "-" ? "removed" : mark === "…" ? "quiet" : undefined}>
          {words[mark] !== "" && <span className="unseen">{words[mark]}: </span>}
          {mark === "…" ? `… ${text}` : `${mark} ${text}`}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
