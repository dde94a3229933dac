import { useMemo, useState } from "react";
import { get, patch, post, remove } from "../../api/client";
import { toApiError, usePolled } from "../../api/loadable";
import { listWorkspaces } from "../../api/places";
import type { Webhook, Workspace } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { count } from "../../components/format";
import { useRights } from "../../components/people/me";
import { Field, Loaded, PageHead, Problem } from "../../components/parts";
import type { Rights } from "../../components/people/rights";
import { Link } from "../../components/address/route";
import { type Column, Table } from "../../components/tables/table";
import { Deliveries } from "./deliveries";
import { NewWebhook } from "./new_webhook";
import { integration, triggerText } from "./webhook";

const pollMs = 10_000;

interface Page {
  readonly webhooks: readonly Webhook[];
  readonly workspaces: readonly Workspace[];
}

async function load(signal: AbortSignal): Promise<Page> {
  const [{ webhooks }, workspaces] = await Promise.all([
    get("/api/v1/webhooks", {}, signal),
    listWorkspaces(undefined, signal),
  ]);
  return { webhooks: webhooks as readonly Webhook[], workspaces };
}

/** Whether one may make webhooks of the workspace (absent: of all), and change them. */
function mayEdit({ may }: Rights, workspaces: readonly Workspace[], workspace: number | undefined): boolean {
  if (workspace === undefined) return may("EDIT_WEBHOOKS");
  const owner = workspaces.find(({ id }) => id === workspace)?.userId;
  return may("EDIT_WEBHOOKS", { workspace, owners: owner === undefined ? [] : [owner] });
}

/** What became of a test. */
type Outcome = "under way" | "arrived" | { readonly problem: string };

/** Who is told when an experiment ends, or a log has a certain line. */
export function WebhookList() {
  const rights = useRights();
  const [loaded, reload] = usePolled("webhooks", load, pollMs);
  const [creates, setCreates] = useState(false);
  const [edited, setEdited] = useState<Webhook>();
  const [deleted, setDeleted] = useState<Webhook>();
  const [followed, setFollowed] = useState<Webhook>();
  const [tests, setTests] = useState<ReadonlyMap<number, Outcome>>(new Map());
  const page = loaded.status === "loaded" ? loaded.value : undefined;
  const places = useMemo(() => page?.workspaces.filter(({ id }) => mayEdit(rights, page.workspaces, id)) ?? [], [page, rights]);
  const everywhere = mayEdit(rights, [], undefined);
  const columns = useMemo((): Column<Webhook>[] => {
    const set = (id: number, outcome: Outcome) => setTests((before) => new Map(before).set(id, outcome));
    const test = ({ id }: Webhook) => {
      set(id, "under way");
      post("/api/v1/webhooks/{id}/test", { path: { id } }).then(
        () => set(id, "arrived"),
        (cause: unknown) => set(id, { problem: toApiError(cause).message }),
      );
    };
    const names = new Map(page?.workspaces.map(({ id, name }) => [id, name]));
    return [
      { id: "name", title: "Name", value: ({ name }) => name, cell: ({ id, name }) => name || `webhook ${id}` },
      {
        id: "url",
        title: "URL",
        value: ({ url }) => url,
        cell: ({ url }) => (
          <span className="ellipsis mono" title={url}>
            {url}
          </span>
        ),
      },
      { id: "type", title: "Type", value: ({ webhookType }) => webhookType, cell: ({ webhookType }) => (webhookType === "WEBHOOK_TYPE_SLACK" ? "Slack" : "Generic") },
      {
        id: "fires",
        title: "Triggers",
        cell: ({ triggers }) => (
          <ul className="plain">
            {triggers.map((trigger, index) => (
              <li key={index}>{triggerText(trigger)}</li>
            ))}
          </ul>
        ),
      },
      {
        id: "of",
        title: "Scope",
        cell: ({ name, mode, workspaceId }) => {
          const place = workspaceId ? (
            <>
              workspace <Link to={{ page: "workspace", id: workspaceId, tab: "projects" }}>{names.get(workspaceId) ?? workspaceId}</Link>
            </>
          ) : (
            "all workspaces"
          );
          return mode === "WEBHOOK_MODE_SPECIFIC" ? <span title={integration(name)}>experiments that name it, in {place}</span> : place;
        },
      },
      {
        id: "actions",
        title: "",
        cell: (webhook) =>
          mayEdit(rights, page?.workspaces ?? [], webhook.workspaceId ?? undefined) && (
            <span className="row">
              <button type="button" disabled={tests.get(webhook.id) === "under way"} aria-label={`Test ${webhook.name}`} onClick={() => test(webhook)}>
                Test
              </button>
              <button type="button" aria-label={`Deliveries of ${webhook.name}`} onClick={() => setFollowed(webhook)}>
                Deliveries
              </button>
              <button type="button" aria-label={`Edit the URL of ${webhook.name}`} onClick={() => setEdited(webhook)}>
                Edit
              </button>
              <button type="button" aria-label={`Delete ${webhook.name}`} onClick={() => setDeleted(webhook)}>
                Delete
              </button>
              <TestOutcome outcome={tests.get(webhook.id)} />
            </span>
          ),
      },
    ];
  }, [page, rights, tests]);
  return (
    <>
      <PageHead
        title="Webhooks"
        actions={
          (everywhere || places.length > 0) && (
            <button type="button" className="primary" disabled={page === undefined} onClick={() => setCreates(true)}>
              New webhook
            </button>
          )
        }
      >
        {page !== undefined && <span className="quiet">{count(page.webhooks.length, "webhook")}</span>}
      </PageHead>
      <p className="quiet">
        The master sends an HTTP POST to these URLs when a trigger fires.
        {!everywhere &&
          (places.length > 0
            ? " You can create webhooks for workspaces that you own. Only administrators can create them for all workspaces."
            : " Only administrators and workspace owners can create webhooks.")}
      </p>
      <Loaded of={loaded} what="webhooks">
        {({ webhooks }) => (
          <Table label="Webhooks" rows={webhooks} columns={columns} rowKey={({ id }) => id} order="name" empty="No webhooks yet." />
        )}
      </Loaded>
      {creates && <NewWebhook places={places} everywhere={everywhere} onDone={reload} onClose={() => setCreates(false)} />}
      {edited !== undefined && <EditWebhook webhook={edited} onDone={reload} onClose={() => setEdited(undefined)} />}
      {followed !== undefined && <Deliveries webhook={followed} onClose={() => setFollowed(undefined)} />}
      {deleted !== undefined && (
        <Dialog
          title={`Delete webhook ${deleted.name}?`}
          action="Delete"
          danger
          onAction={() => remove("/api/v1/webhooks/{id}", { path: { id: deleted.id } }).then(reload)}
          onClose={() => setDeleted(undefined)}
        >
          <p>Pending deliveries to {deleted.url} are dropped.</p>
        </Dialog>
      )}
    </>
  );
}

function TestOutcome({ outcome }: { outcome: Outcome | undefined }) {
  if (outcome === undefined) return null;
  if (outcome === "under way") return <span className="quiet">Sending …</span>;
  if (outcome === "arrived")
    return (
      <span className="state good" role="status">
        Delivered
      </span>
    );
  return <Problem text={outcome.problem} />;
}

function EditWebhook({ webhook, onDone, onClose }: { webhook: Webhook; onDone: () => void; onClose: () => void }) {
  const [url, setUrl] = useState(webhook.url);
  return (
    <Dialog
      title={`Change the URL of ${webhook.name}`}
      action="Save"
      disabled={url.trim() === "" || url.trim() === webhook.url}
      onAction={() => patch("/api/v1/webhooks/{id}", { path: { id: webhook.id }, body: { url: url.trim() } }).then(onDone)}
      onClose={onClose}
    >
      <p className="quiet">Pending deliveries are sent to the new URL too.</p>
      <Field label="URL">
        <input value={url} type="url" required autoFocus onChange={(event) => setUrl(event.target.value)} />
      </Field>
    </Dialog>
  );
}
