import { useState } from "react";
import { grouped } from "../../components/charts/bands";
import { Chart } from "../../components/charts/chart";
import { chart } from "../../components/charts/curves";
import { colourAt, palette } from "../../components/charts/palette";
import { Dot } from "../../components/charts/dot";
import { Dialog } from "../../components/forms/dialog";
import { SearchField } from "../../components/forms/search_field";
import { Icon, type IconName, iconNames } from "../../components/icons";
import { Prose } from "../../components/markdown/prose";
import { Choice, Field, Labels, PageHead, Pairs, Panel, Problem, Progress, StateBadge } from "../../components/parts";
import { type Column, Table } from "../../components/tables/table";

/** The colours of style.css, by their names there. */
const tokens = ["ink", "quiet", "line", "strong-line", "paper", "raised", "hover", "accent", "accent-soft", "on-accent", "bad", "good", "waiting"] as const;

const states = ["STATE_ACTIVE", "STATE_RUNNING", "STATE_PAUSED", "STATE_COMPLETED", "STATE_ERROR", "STATE_CANCELED"] as const;

interface Row {
  readonly name: string;
  readonly loss: number;
}
const rows: readonly Row[] = [{ name: "wide net", loss: 0.12 }, { name: "deep net", loss: 0.31 }];
const columns: readonly Column<Row>[] = [
  { id: "name", title: "Name", value: ({ name }) => name, cell: ({ name }) => name },
  { id: "loss", title: "Loss", number: true, value: ({ loss }) => loss, cell: ({ loss }) => loss },
];

const curves = chart(
  "loss",
  [1, 2, 3, 4].flatMap((trialId) => Array.from({ length: 20 }, (_, at) => ({ trialId, group: "training", name: "loss", x: at, value: (1 + trialId / 4) / (1 + at / 4) }))),
);

const markdown = "# A heading\n\nA paragraph with **weight**, *stress*, `code` and [a link](/det/).\n\n- one\n- two\n\n| lr | loss |\n| --- | ---: |\n| 0.1 | 0.31 |\n";

/** All parts of the pages, as they look and are used: for those who build pages, and for the test that compares pictures. */
export function DesignPage() {
  const [choice, setChoice] = useState("none");
  const [asks, setAsks] = useState(false);
  return (
    <>
      <PageHead title="Design system" actions={<button type="button" className="primary">An action</button>}>
        <span className="quiet">The parts of these pages</span>
      </PageHead>
      <Panel title="Colors">
        <ul className="row swatches" aria-label="Colors">
          {tokens.map((name) => (
            <li key={name}>
              <svg width="36" height="24" aria-hidden="true">
                <rect width="36" height="24" rx="5" className={`token-${name}`} />
              </svg>{" "}
              <code>--{name}</code>
            </li>
          ))}
        </ul>
        <ul className="row swatches" aria-label="Colors of curves">
          {palette.map((colour) => (
            <li key={colour}>
              <Dot colour={colour} /> <code>{colour}</code>
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Buttons">
        <p className="row">
          <button type="button">Plain</button>
          <button type="button" className="primary">
            Primary
          </button>
          <button type="button" className="danger">
            Danger
          </button>
          <button type="button" className="text">
            Text
          </button>
          <button type="button" aria-pressed="true">
            Pressed
          </button>
          <button type="button" disabled>
            Disabled
          </button>
          <button type="button" onClick={() => setAsks(true)}>
            Open a dialog
          </button>
        </p>
        {asks && (
          <Dialog title="Delete the model?" action="Delete" danger onAction={() => Promise.resolve()} onClose={() => setAsks(false)}>
            <p>Its versions are deleted too. Checkpoints stay.</p>
          </Dialog>
        )}
      </Panel>
      <Panel title="Fields">
        <p className="row">
          <SearchField text="" onSearch={() => {}} placeholder="Search" label="Search" />
          <Choice label="Smoothing" value={choice} options={[["none", "none"], ["low", "low"]]} onChange={setChoice} />
          <label className="check">
            <input type="checkbox" defaultChecked /> Log scale
          </label>
        </p>
        <Field label="Name">
          <input defaultValue="mnist" />
        </Field>
        <Problem text="The name “mnist” is taken. Choose another one." />
      </Panel>
      <div className="columns">
        <Panel title="States">
          <p className="row">
            {states.map((state) => (
              <StateBadge key={state} state={state} />
            ))}
          </p>
          <p className="row">
            <Progress fraction={0.42} /> <Labels labels={["vision", "baseline"]} />
          </p>
        </Panel>
        <Panel title="Details">
          <Pairs rows={[["Searcher", "adaptive_asha"], ["Metric", "validation_loss, smaller is better"]]} />
        </Panel>
      </div>
      <Panel title="Tables" tools={<button type="button">CSV</button>}>
        <Table label="Nets" rows={rows} columns={columns} rowKey={({ name }) => name} order="loss" parameter="nets-by" empty="No nets yet." />
        <Table label="No nets" rows={[]} columns={columns} rowKey={({ name }) => name} order="loss" parameter="none-by" empty="No nets yet. Train one with det experiment create." />
      </Panel>
      <Panel title="Charts">
        <div className="charts">
          <Chart chart={curves} log={false} colour={({ trialId }) => colourAt(trialId - 1)} />
          <Chart chart={grouped(curves, "half", (id) => (id > 2 ? "second" : "first"), "min–max")} log />
        </div>
      </Panel>
      <Panel title="Texts">
        <Prose text={markdown} />
      </Panel>
      <Panel title="Icons">
        <p className="row">
          {iconNames.map((name: IconName) => (
            <span key={name} title={name}>
              <Icon name={name} />
            </span>
          ))}
        </p>
      </Panel>
    </>
  );
}
