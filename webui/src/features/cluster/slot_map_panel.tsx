import type { Agent, Job, TaskSummary } from "../../api/types";
import { colourAt, restColour } from "../../components/charts/palette";
import { Dot } from "../../components/charts/dot";
import { count } from "../../components/format";
import { Choice, Panel } from "../../components/parts";
import { useParameter } from "../../components/address/route";
import { type AgentCells, type Colouring, colourings, slotMap } from "./slot_map";

const agentsMax = 500;
const ownersMax = 12;
const [side, gap, columns] = [13, 3, 16];

const colourOf = (owner: number) => (owner < ownersMax ? colourAt(owner) : restColour);

/** Every slot as a small square in the colour of who uses it. */
export function SlotMapPanel({ agents, tasks, jobs }: { agents: readonly Agent[]; tasks: readonly TaskSummary[]; jobs: readonly Job[] }) {
  const [wanted, setBy] = useParameter("colour", "user");
  const by: Colouring = colourings.find((name) => name === wanted) ?? "user";
  const map = slotMap(agents, tasks, jobs, by);
  return (
    <Panel title="Slots" tools={<Choice<Colouring> label="Color by" value={by} options={colourings.map((name) => [name, name] as const)} onChange={setBy} />}>
      <ul className="row legend" aria-label="Legend of slots">
        {map.owners.slice(0, ownersMax).map(({ name, slots }, index) => (
          <li key={name}>
            <Dot colour={colourOf(index)} /> {name} <span className="quiet">{slots}</span>
          </li>
        ))}
        {map.owners.length > ownersMax && (
          <li>
            <Dot colour={restColour} /> {map.owners.length - ownersMax} others
          </li>
        )}
        <li className="quiet">
          {map.free} free{map.disabled > 0 && `, ${map.disabled} disabled`}
        </li>
      </ul>
      <div className="slotmap">
        {map.agents.slice(0, agentsMax).map((agent) => (
          <Squares key={agent.id} agent={agent} />
        ))}
      </div>
      {map.agents.length > agentsMax && <p className="quiet">Showing {agentsMax} of {count(map.agents.length, "agent")}.</p>}
    </Panel>
  );
}

function Squares({ agent: { id, cells, text } }: { agent: AgentCells }) {
  const wide = Math.min(columns, Math.max(1, cells.length));
  const [width, height] = [wide * (side + gap) - gap, Math.ceil(cells.length / columns) * (side + gap) - gap];
  return (
    <figure>
      <figcaption title={id}>{id}</figcaption>
      <svg width={width} height={Math.max(0, height)} role="img" aria-label={`${id}: ${text}`}>
        {cells.map(({ slot, use, owner, text: what }, at) => (
          <rect
            key={slot}
            x={(at % columns) * (side + gap) + 0.5}
            y={Math.floor(at / columns) * (side + gap) + 0.5}
            width={side - 1}
            height={side - 1}
            rx={2.5}
            className={use}
            fill={use === "used" ? colourOf(owner) : undefined}
          >
            <title>{what}</title>
          </rect>
        ))}
      </svg>
    </figure>
  );
}
