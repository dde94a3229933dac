import assert from "node:assert/strict";
import { call } from "./compare.mjs";
import { isDrawn } from "./experiment.mjs";

/** Panels of experiments, which are added, edited, moved and resized in their place. */
export async function panels({ page, open, done, expectRefusals }, { search }) {
  await open("/det/workspaces");
  await page.getByRole("heading", { name: "Workspaces" }).waitFor();
  const { workspace } = await call(page, "POST", "workspaces", { name: "arranged" });
  const { project } = await call(page, "POST", `workspaces/${workspace.id}/projects`, { name: "panels" });
  const moveTo = (destinationProjectId) => call(page, "POST", `experiments/${search.id}/move`, { experimentId: search.id, destinationProjectId });
  const { experiment } = await call(page, "GET", `experiments/${search.id}`);
  await moveTo(project.id);
  await open(`/det/projects/${project.id}/notes`);
  await page.getByRole("button", { name: "New note" }).click();
  const note = page.getByRole("region", { name: "Note 1" });
  const add = async (title, filter) => {
    await note.getByRole("button", { name: "Add panel" }).click();
    const dialog = page.getByRole("dialog", { name: "Add panel" });
    await dialog.getByLabel("Title").fill(title);
    if (filter !== undefined) await dialog.getByLabel("Filter of experiments").fill(filter);
    return dialog;
  };
  const first = await add("Nothing yet", "state = PAUSED");
  await first.getByText("No experiment with a trial matches “state = PAUSED”.").waitFor();
  await first.getByRole("button", { name: "Add", exact: true }).click();
  const second = await add("Best");
  await isDrawn(page, second.locator("figure.chart"));
  await second.getByRole("combobox", { name: "Metric", exact: true }).fill("validation_loss");
  await second.getByLabel("Width").selectOption("half");
  await done("a panel is shown while its form is filled in");
  await second.getByRole("button", { name: "Add", exact: true }).click();
  const titles = async () => (await note.locator(".block > figcaption").allInnerTexts()).map((text) => text.split("\n")[0].trim());
  const become = async (...wanted) => {
    while ((await titles()).join() !== wanted.join()) await page.waitForTimeout(50);
  };
  await become("Nothing yet", "Best");
  await isDrawn(page, note.locator("figure.chart"));
  await done("panels draw the best trials of the experiments that match");
  for (const [type, drawn] of [["parallel coordinates", /^8 trials over \d hyperparameters/], ["scatter matrix", /of 8 trials over every two of \d hyperparameters/], ["metric by hyperparameter", /^validation_loss over /]]) {
    const dialog = await add(type);
    await dialog.getByLabel("Type").selectOption(type);
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await note.locator(".block", { hasText: type }).getByRole("img", { name: drawn }).first().waitFor();
  }
  await done("panels draw all trials of searches over their hyperparameters");

  const others = ["parallel coordinates", "scatter matrix", "metric by hyperparameter"];
  const arrange = async (name, action) => {
    await note.getByRole("button", { name: `Arrange ${name}` }).click();
    await page.getByRole("button", { name: action, exact: true }).click();
  };
  await arrange("Best", "Move up");
  await become("Best", "Nothing yet", ...others);
  await note.locator(".block", { hasText: "Nothing yet" }).locator(".grip").dragTo(note.locator(".block", { hasText: "Best" }).first());
  await become("Nothing yet", "Best", ...others);
  await arrange("Nothing yet", "Half width");
  await note.locator(".block.half").nth(1).waitFor();
  const [left, right] = await Promise.all([0, 1].map((nth) => note.locator(".block").nth(nth).boundingBox()));
  assert(left.y === right.y && left.x + left.width < right.x, "two halves are beside each other");
  await arrange("Nothing yet", "Edit");
  expectRefusals(); // the unfinished filter
  await page.getByRole("dialog").getByLabel("Filter of experiments").fill("lr >");
  await page.getByRole("dialog").getByText("filter ends where a value is expected").waitFor();
  await page.getByRole("dialog").getByLabel("Filter of experiments").fill(`id = ${search.id}`);
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await isDrawn(page, note.locator(".block", { hasText: "Nothing yet" }).locator("figure.chart").first());
  for (const name of ["Best", ...others]) await arrange(name, "Remove");
  await become("Nothing yet");
  const { project: stored } = await call(page, "GET", `projects/${project.id}`);
  assert.equal(stored.notes[0].contents, `\`\`\`chart\ntitle: Nothing yet\nexperiments: id = ${search.id}\nwidth: half\n\`\`\`\n`);
  await done("panels are moved, resized, edited and removed in their place, and the note has them as text");

  // Somebody else writes at the same time.
  await call(page, "PUT", `projects/${project.id}/notes`, { notes: [{ name: "Note 1", contents: "theirs" }] });
  await arrange("Nothing yet", "Full width");
  await note.getByText("theirs").waitFor();
  await note.getByRole("alert").getByText("Somebody else has changed this note").waitFor();
  await done("what others write in the meantime is not lost");
  await moveTo(experiment.projectId);
  await call(page, "DELETE", `workspaces/${workspace.id}`);
}
