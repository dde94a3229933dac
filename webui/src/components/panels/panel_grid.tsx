import { useMemo, useState } from "react";
import { Menu } from "../forms/menu";
import { late } from "../late";
import { chartView } from "../charts/view";
import { blockText, type ChartPanel, panelOf, parseBlock, widths } from "./block";
import { Drawn } from "./drawn";

const PanelForm = late(() => import("./panel_form").then((m) => m.PanelForm));

const newPanel: ChartPanel = { ...panelOf([], chartView({})), experiments: "" };

/** A button, and the form of a panel that is not there yet. */
export function AddPanel({ projectId, onAdd }: { projectId: number | undefined; onAdd: (block: string) => Promise<void> }) {
  const [adds, setAdds] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setAdds(true)}>
        Add panel
      </button>
      {adds && <PanelForm title="Add panel" action="Add" panel={newPanel} projectId={projectId} onSave={(panel) => onAdd(blockText(panel))} onClose={() => setAdds(false)} />}
    </>
  );
}

/** How the panels of a text are arranged. They are counted from 0, over the whole text. */
export interface Arranging {
  readonly count: number;
  readonly dragged: number | undefined;
  readonly onDrag: (nth: number | undefined) => void;
  readonly onMove: (from: number, to: number) => void;
  readonly onReplace: (nth: number, block: string) => void;
  /** The same; it fails where the text could not be stored. */
  readonly onSave: (nth: number, block: string) => Promise<void>;
  readonly onRemove: (nth: number) => void;
}

interface PanelGridProps {
  /** Panels that follow each other, and the number of the first. */
  readonly blocks: readonly string[];
  readonly first: number;
  readonly projectId: number | undefined;
  /** Without it they stay as they are. */
  readonly arranging: Arranging | undefined;
}

/** Panels beside and below each other. */
export function PanelGrid({ blocks, first, projectId, arranging }: PanelGridProps) {
  // A panel that moves keeps what it has loaded. Equal ones are told apart by their order.
  const seen = new Map<string, number>();
  return (
    <div className="panels">
      {blocks.map((text, at) => {
        const before = seen.get(text) ?? 0;
        seen.set(text, before + 1);
        return <PanelFrame key={`${before} ${text}`} text={text} nth={first + at} projectId={projectId} arranging={arranging} />;
      })}
    </div>
  );
}

interface PanelFrameProps {
  readonly text: string;
  readonly nth: number;
  readonly projectId: number | undefined;
  readonly arranging: Arranging | undefined;
}

function PanelFrame({ text, nth, projectId, arranging }: PanelFrameProps) {
  const panel = useMemo(() => parseBlock(text), [text]);
  const drawable = typeof panel !== "string";
  const target = arranging?.dragged !== undefined && arranging.dragged !== nth;
  return (
    <figure
      className={`block ${drawable ? panel.width : "full"} ${arranging?.dragged === nth ? "dragged" : ""}`}
      onDragOver={(event) => target && event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        if (target) arranging.onMove(arranging.dragged as number, nth);
      }}
    >
      <figcaption>
        <span>{drawable && panel.title}</span>
        {arranging !== undefined && <Tools panel={drawable ? panel : undefined} nth={nth} projectId={projectId} arranging={arranging} />}
      </figcaption>
      {drawable ? <Drawn panel={panel} projectId={projectId} /> : <p className="problem">{panel}</p>}
    </figure>
  );
}

interface ToolsProps {
  /** What it is, if it can be drawn. */
  readonly panel: ChartPanel | undefined;
  readonly nth: number;
  readonly projectId: number | undefined;
  readonly arranging: Arranging;
}

function Tools({ panel, nth, projectId, arranging: { count, onDrag, onMove, onReplace, onSave, onRemove } }: ToolsProps) {
  const [edits, setEdits] = useState(false);
  const name = panel?.title || `panel ${nth + 1}`;
  return (
    <span className="tools">
      <span
        className="grip"
        title="Drag to move"
        aria-hidden="true"
        draggable
        onDragStart={(event) => {
          event.dataTransfer.effectAllowed = "move";
          onDrag(nth);
        }}
        onDragEnd={() => onDrag(undefined)}
      >
        ⠿
      </span>
      <Menu label={`Arrange ${name}`}>
        {panel !== undefined && (
          <button type="button" onClick={() => setEdits(true)}>
            Edit
          </button>
        )}
        {nth > 0 && (
          <button type="button" onClick={() => onMove(nth, nth - 1)}>
            Move up
          </button>
        )}
        {nth < count - 1 && (
          <button type="button" onClick={() => onMove(nth, nth + 1)}>
            Move down
          </button>
        )}
        {panel !== undefined &&
          widths
            .filter((width) => width !== panel.width)
            .map((width) => (
              <button key={width} type="button" onClick={() => onReplace(nth, blockText({ ...panel, width }))}>
                {width === "full" ? "Full width" : width === "half" ? "Half width" : "A third of the width"}
              </button>
            ))}
        <button type="button" onClick={() => onRemove(nth)}>
          Remove
        </button>
      </Menu>
      {edits && panel !== undefined && (
        <PanelForm title={`Edit ${name}`} action="Save" panel={panel} projectId={projectId} onSave={(next) => onSave(nth, blockText(next))} onClose={() => setEdits(false)} />
      )}
    </span>
  );
}
