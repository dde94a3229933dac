import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { isDrawn } from "./experiment.mjs";

/** Trials beside each other: their curves together and apart, what differs, and the charts in a note. */
export async function compare(walk, facts) {
  await beside(walk, facts);
  await together(walk, facts);
  await inNotes(walk, facts);
}

async function beside({ page, open, done, path, expectRefusals }, { search, resumed: { trial: id }, profiled }) {
  await open(`/det/compare?trials=${id},${profiled}`);
  const code = page.getByRole("region", { name: "Code", exact: true });
  await code.locator("summary", { hasText: "model_def.py" }).click();
  const diff = code.getByRole("region", { name: /^model_def.py in experiments/ });
  await diff.locator(".removed", { hasText: "class NoisyTrial" }).waitFor();
  await code.locator("summary", { hasText: "train.py" }).click();
  await code.locator(".added", { hasText: "import determined as det" }).waitFor();
  await done("files of two experiments are compared line by line");

  await open(`/det/compare?trials=${id},${search.best}`);
  await isDrawn(page, page.locator("figure.chart").first());
  const compared = page.getByRole("table", { name: "Compared trials" });
  assert.equal(await compared.locator("thead th").count(), 3);
  await compared.getByRole("row", { name: /^searcher.max_trials – 8/ }).waitFor();
  await compared.getByRole("row", { name: /^Trial seed/ }).waitFor();
  await page.getByRole("region", { name: "Code", exact: true }).getByText("The submitted files are the same.").waitFor();
  await page.getByRole("button", { name: `Remove trial ${id}`, exact: true }).click();
  await page.waitForURL((url) => url.searchParams.get("trials") === String(search.best));
  await page.getByRole("textbox", { name: "Trial ID" }).fill(String(id));
  await page.getByRole("button", { name: "Add" }).click();
  await page.waitForFunction(() => document.querySelectorAll("table[aria-label='Compared trials'] thead th").length === 3);
  assert.equal(path(), `/det/compare?trials=${encodeURIComponent(`${search.best},${id}`)}`);
  expectRefusals(); // a trial that nobody has made
  await open(`/det/compare?trials=${id},999999`);
  await page.getByRole("alert").getByText("trial '999999' not found").waitFor();
  await page.getByRole("link", { name: String(id), exact: true }).waitFor();
  await page.getByRole("button", { name: "Remove trial 999999" }).click();
  await page.getByRole("alert").waitFor({ state: "detached" });
  await compared.waitFor();
  assert.equal(await compared.locator("thead th").count(), 2);
  await done("trials of different experiments stand beside each other; one that is not there takes nothing away");
}

/** Three seeds of two learning rates. */
async function together({ page, open, done }, { seeds }) {
  await open(`/det/compare?trials=${seeds.join()}`);
  const figure = page.locator("figure.chart").first();
  await isDrawn(page, figure);
  const curves = async (count) => figure.getByRole("img", { name: new RegExp(`, ${count} curves`) }).waitFor();
  await curves(6);
  await page.getByRole("combobox", { name: "Group by" }).selectOption("lr");
  await curves(2);
  await figure.locator(".u-legend").getByText("lr 0.1 (3)").first().waitFor();
  assert.match(page.url(), /group=lr/);
  await page.getByRole("combobox", { name: "Band" }).selectOption("std");
  await page.getByRole("combobox", { name: "X axis" }).selectOption("wall time");
  await figure.getByRole("img", { name: /over wall time, 2 curves/ }).waitFor();
  await isDrawn(page, figure);
  await done("seeds are one curve with a band, over batches and wall time");

  await page.getByRole("combobox", { name: "X axis" }).selectOption("batches");
  await figure.hover();
  const saved = async (kind) => {
    const downloading = page.waitForEvent("download");
    await figure.getByRole("button", { name: `Save loss as ${kind}` }).click();
    const file = await downloading;
    assert.equal(file.suggestedFilename(), `loss.${kind.toLowerCase()}`);
    return readFileSync(await file.path());
  };
  const svg = (await saved("SVG")).toString();
  assert.equal(svg.match(/stroke-width="1.6"/g).length, 2);
  assert.equal(svg.match(/fill-opacity/g).length, 2);
  assert.deepEqual([...(await saved("PNG")).subarray(1, 4)], [...Buffer.from("PNG")]);
  await done("a chart is saved as a picture");
}

/** What a call of the API with this body answers. */
export const call = (page, method, path, body) =>
  page.evaluate(async ([how, to, what]) => (await fetch(`/api/v1/${to}`, { method: how, headers: { "Content-Type": "application/json" }, body: JSON.stringify(what) })).json(), [method, path, body]);

async function inNotes({ page, open, done }, { seeds }) {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy for notes" }).click();
  await page.getByText("Copied").waitFor();
  const block = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(block, `\`\`\`chart\ntrials: ${seeds.join(", ")}\ngroup: lr\nband: std\n\`\`\`\n`);

  const { workspace } = await call(page, "POST", "workspaces", { name: "written" });
  const { project } = await call(page, "POST", `workspaces/${workspace.id}/projects`, { name: "report" });
  await open(`/det/projects/${project.id}/notes`);
  await page.getByRole("button", { name: "New note" }).click();
  await page.getByRole("button", { name: "Edit text of Note 1" }).click();
  const text = ["# Learning rates", "", "The **larger** one is [better](javascript:alert(1)), see <b>below</b>.", "", "| lr | loss |", "| --- | ---: |", "| 0.1 | 0.5 |", "", block, "```chart", "trials: none", "```"];
  await page.getByRole("textbox", { name: "text of Note 1" }).fill(text.join("\n"));
  await page.getByRole("button", { name: "Save" }).click();
  const note = page.getByRole("region", { name: "Note 1" });
  await note.getByRole("heading", { name: "Learning rates" }).waitFor();
  await isDrawn(page, note.locator("figure.chart"));
  await note.getByRole("img", { name: /loss over batches, 2 curves/ }).waitFor();
  assert.equal(await note.locator("strong").innerText(), "larger");
  await note.getByText("<b>below</b>").waitFor();
  assert.equal(await note.getByRole("link", { name: "better" }).count(), 0);
  await note.getByRole("cell", { name: "0.5" }).waitFor();
  await note.getByText("“trials: none”: the IDs of trials are positive whole numbers.").waitFor();
  await done("notes are Markdown, with charts of what trials have reported");
  await call(page, "DELETE", `workspaces/${workspace.id}`);
}
