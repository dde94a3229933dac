import { Fragment, useState } from "react";
import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { AuditEntry as Entry } from "../../api/types";
import { fieldOf, timeOf, zoneText } from "../../components/logs/clock";
import { useRights } from "../../components/people/me";
import { Loaded, PageHead } from "../../components/parts";
import type { Query } from "../../components/address/paths";
import { Link, useQuery } from "../../components/address/route";
import { SearchField } from "../../components/forms/search_field";
import { aboutParts, auditParameters, callOf, cursorsOf, outcomeOf, pageSize } from "./entries";

const pollMs = 5000;

interface Reply {
  readonly entries: readonly Entry[];
}

/** Who changed what, or tried to: for administrators. The address holds the question. */
export function AuditPage() {
  const { may } = useRights();
  return (
    <>
      <PageHead title="Audit log" />
      {may("VIEW_MASTER_CONFIG") ? <AuditLog /> : <p className="quiet">Only administrators can view the audit log. Log in as an administrator.</p>}
    </>
  );
}

function AuditLog() {
  const [query, change] = useQuery();
  const cursors = cursorsOf(query);
  const [list] = usePolled(
    `audit ${JSON.stringify(query)}`,
    (signal) => get("/api/v1/audit", { query: auditParameters(query) }, signal),
    pollMs,
    () => cursors.length === 0, // older pages do not change
  );
  // While the next answer is on its way, the last one stays.
  const [last, setLast] = useState<Reply>();
  if (list.status === "loaded" && list.value !== last) setLast(list.value);
  const shown = list.status === "loading" && last !== undefined ? { status: "loaded" as const, value: last } : list;
  const ask = (some: Query) => change({ before: "", ...some });
  const turn = (next: readonly string[]) => {
    change({ before: next.join(",") });
    window.scrollTo(0, 0);
  };
  return (
    <>
      <Filters query={query} ask={ask} />
      <Loaded of={shown} what="the audit log">
        {({ entries }) => (
          <>
            {entries.length === 0 ? <p className="quiet">No entries match these filters.</p> : <Entries entries={entries.slice(0, pageSize)} ask={ask} />}
            {(cursors.length > 0 || entries.length > pageSize) && (
              <nav className="row pages" aria-label="Pages of the log">
                <button type="button" disabled={cursors.length === 0} onClick={() => turn(cursors.slice(0, -1))}>
                  Newer
                </button>
                <span className="quiet">page {cursors.length + 1}</span>
                <button type="button" disabled={entries.length <= pageSize} onClick={() => turn([...cursors, entries[pageSize - 1]?.id ?? "0"])}>
                  Older
                </button>
              </nav>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

function Filters({ query, ask }: { query: Query; ask: (some: Query) => void }) {
  const [users] = usePolled("users", (signal) => get("/api/v1/users", {}, signal), 60_000);
  const names = users.status === "loaded" ? users.value.users.map(({ username }) => username) : [];
  const time = (label: string, name: "since" | "until") => (
    <label className="choice" title={`In this browser's time zone, ${zoneText(new Date())}`}>
      <span>{label}</span>
      <input type="datetime-local" value={fieldOf(query[name])} onChange={(event) => ask({ [name]: timeOf(event.target.value) })} />
    </label>
  );
  return (
    <search className="row filters">
      <SearchField
        text={query.search ?? ""}
        onSearch={(search) => ask({ search: search.trim() })}
        placeholder="Method, path or object: kill, experiment 7"
        label="Search in method, path and object"
      />
      <label className="choice">
        <span>User</span>
        <select value={query.user ?? ""} onChange={(event) => ask({ user: event.target.value })}>
          <option value="">any</option>
          {query.user !== undefined && !names.includes(query.user) && <option>{query.user}</option>}
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {time("From", "since")}
      {time("to", "until")}
      <label className="check">
        <input type="checkbox" checked={query.refused !== undefined} onChange={(event) => ask({ refused: event.target.checked ? "1" : "" })} /> Denied or failed only
      </label>
    </search>
  );
}

function Entries({ entries, ask }: { entries: readonly Entry[]; ask: (some: Query) => void }) {
  return (
    <div className="table">
      <table aria-label="Audit log">
        <thead>
          <tr>
            {["Time", "User", "Address", "Request", "Object", "Result"].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.id}>
              <td className="nowrap">
                <time dateTime={entry.time}>{new Date(entry.time).toLocaleString()}</time>
              </td>
              <td>
                <button type="button" className="text" title="Show only this user" onClick={() => ask({ user: entry.username })}>
                  {entry.username}
                </button>
                {entry.byTask !== "" && <span className="quiet"> by task {entry.byTask}</span>}
              </td>
              <td className="quiet">{entry.address}</td>
              <td>
                <span className="ellipsis mono" title={callOf(entry)}>
                  {callOf(entry)}
                </span>
              </td>
              <td>
                {aboutParts(entry.about).map(({ text, view }, index) => (
                  <Fragment key={index}>
                    {index > 0 && ", "}
                    {view === undefined ? text : <Link to={view}>{text}</Link>}
                  </Fragment>
                ))}
              </td>
              <td className={entry.status >= 400 ? "problem nowrap" : "nowrap"} title={`HTTP ${entry.status}`}>
                {outcomeOf(entry.status)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
