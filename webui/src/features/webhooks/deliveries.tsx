import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Delivery, Webhook } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { Age, Loaded } from "../../components/parts";
import { type Column, Table } from "../../components/tables/table";
import { deliveryStates, deliveryText } from "./webhook";

const columns: readonly Column<Delivery>[] = [
  { id: "time", title: "Time", value: ({ creationTime }) => Date.parse(creationTime), cell: ({ creationTime }) => <Age time={creationTime} /> },
  { id: "event", title: "Event", value: ({ event }) => event, cell: ({ event }) => event || "–" },
  {
    id: "state",
    title: "State",
    value: ({ state }) => state,
    cell: ({ state }) => <span className={`state ${deliveryStates[state][1]}`}>{deliveryStates[state][0]}</span>,
  },
  { id: "outcome", title: "Attempts", cell: (delivery) => deliveryText(delivery, Date.now()) },
];

/** What waits to be told to a webhook, and what became of the last that it was told. */
export function Deliveries({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { id, name } = webhook;
  const [list] = usePolled(
    `deliveries ${id}`,
    async (signal) => (await get("/api/v1/webhooks/{id}/deliveries", { path: { id } }, signal)).deliveries as readonly Delivery[],
    3000,
  );
  return (
    <Dialog title={`Deliveries of ${name}`} action="OK" wide onAction={() => undefined} onClose={onClose}>
      <p className="quiet">Pending deliveries, and the latest finished ones since the master started. Test deliveries are not listed.</p>
      <Loaded of={list} what="deliveries">
        {(deliveries) => (
          <Table
            label="Deliveries"
            rows={deliveries}
            columns={columns}
            rowKey={({ eventId }) => eventId}
            order="-time"
            parameter="deliveries"
            empty="No deliveries yet."
          />
        )}
      </Loaded>
    </Dialog>
  );
}
