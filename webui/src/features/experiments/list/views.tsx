import { useState } from "react";
import { get, post } from "../../../api/client";
import { usePolled } from "../../../api/loadable";
import { Popup } from "../../../components/forms/dialog";
import { parseQuery, type Query } from "../../../components/address/paths";
import { nameOf, viewText } from "./saved_views";

const storagePath = "views/experiments";
const pollMs = 60_000;

async function savedViews(signal: AbortSignal) {
  const { settings = [] } = await get("/api/v1/users/setting", {}, signal);
  return settings.filter((one) => one.storagePath === storagePath).map(({ key, value = "" }) => ({ key, value }));
}

interface Props {
  readonly query: Query;
  /** Shows another list: all that the address says. */
  readonly show: (query: Query) => void;
}

/** Named views of the list: filters, columns and order, kept by the master for this user. */
export function Views({ query, show }: Props) {
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  const [settings, reload] = usePolled("views", savedViews, pollMs);
  const views = settings.status === "loaded" ? settings.value : [];
  const store = async (key: string, value: string) => {
    try {
      await post("/api/v1/users/setting", { body: { settings: [{ key, storagePath, value }] } });
      setProblem("");
      reload();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const text = viewText(query);
  const current = nameOf(views, text);
  const wanted = name.trim();
  return (
    <Popup label={current ?? "Views"}>
      {views.map(({ key, value }) => (
        <span key={key} className="row view">
          <button type="button" aria-current={key === current} onClick={() => show(parseQuery(value))}>
            {key}
          </button>
          <button type="button" aria-label={`Delete the view ${key}`} onClick={() => void store(key, "")}>
            ×
          </button>
        </span>
      ))}
      {views.length === 0 && <span className="quiet">A view keeps filters, columns and order under a name.</span>}
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (wanted !== "") void store(wanted, text).then(() => setName(""));
        }}
      >
        <input type="text" aria-label="Name of this view" placeholder="Name of this view" value={name} onChange={(event) => setName(event.target.value)} />
        <input type="submit" value="Save" disabled={wanted === "" || text === ""} />
      </form>
      {problem !== "" && <span role="alert">{problem}</span>}
    </Popup>
  );
}
