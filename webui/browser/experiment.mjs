import assert from "node:assert/strict";

/** Whether one of these colours is on the canvas of the first chart. */
export async function isDrawn(page, chart) {
  await chart.locator("canvas").first().waitFor();
  return page.waitForFunction((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let coloured = 0;
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 200 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) coloured += 1;
    return coloured > 50;
  }, await chart.locator("canvas").first().elementHandle());
}

/** One experiment that is a search: its curves, pictures, trials, configuration, code, notes. */
export async function experiment({ page, open, path, text, done, expectRefusals, problems }, { search, lonely }) {
  const { id, metric } = search;
  const tab = (name) => page.getByRole("navigation", { name: "Experiment sections" }).getByRole("link", { name });
  await open(`/det/experiments/${id}`);
  const charts = page.locator("figure.chart");
  await isDrawn(page, charts.first());
  assert.equal(await text(charts.first().locator("figcaption")), metric, "the searcher's metric is on top");
  await page.getByRole("combobox", { name: "X axis", exact: true }).selectOption("records");
  await page.waitForURL(/x=records/);
  await page.getByRole("img", { name: new RegExp(`${metric} over records`) }).waitFor();
  await page.getByLabel("Log scale").check();
  await page.getByLabel("Log x axis").check();
  await page.waitForURL(/logx=1/);
  await isDrawn(page, page.locator("figure.chart").first());
  await page.getByLabel("Log x axis").uncheck();
  await page.getByRole("combobox", { name: "Metric", exact: true }).selectOption(metric);
  await page.waitForURL(/metric=/);
  assert.equal(await charts.count(), 1);
  await page.reload();
  await isDrawn(page, charts.first());
  assert.equal(await charts.count(), 1);
  await done("metrics are curves over batches or records; the address keeps what one looks at");

  await tab("search").click();
  assert.equal(path(), `/det/experiments/${id}/search`);
  const lines = page.locator("svg.parallel path.hit");
  await lines.first().waitFor();
  assert.equal(await lines.count(), search.trials);
  const importance = page.getByRole("region", { name: "Importance of hyperparameters" });
  await importance.getByLabel("Importance of several together").waitFor();
  await importance.getByRole("combobox", { name: "Measure" }).selectOption("By ranks");
  await importance.getByText("chance gives 0").waitFor();
  assert.equal(await importance.getByLabel("Importance of several together").count(), 0);
  assert(await page.getByRole("region", { name: "Progress of the search" }).locator("progress").count() > 0);
  assert(await page.locator("svg circle.dot").count() >= search.trials);
  await page.locator("svg.plot:not(.parallel) rect").first().waitFor();
  await page.getByRole("region", { name: `Distribution of ${metric}` }).getByRole("img", { name: `Of ${search.trials} trials` }).waitFor();
  await page.getByRole("region", { name: "Scatter matrix" }).getByRole("img", { name: `of ${search.trials} trials over every two` }).waitFor();
  await page.getByRole("combobox", { name: "Color by", exact: true }).selectOption("optimizer");
  await page.waitForURL(/colour=optimizer/);
  await isDrawn(page, page.getByRole("region", { name: "Learning curves" }).locator("figure.chart"));
  await brushed({ page, done }, search.trials);
  await done("a search is shown as rungs, parallel coordinates, curves, dots, a distribution and a heat map");

  await tab("trials").click();
  const trials = page.getByRole("table", { name: "Trials" });
  await trials.locator("tbody tr").first().waitFor();
  assert.equal(await trials.locator("tbody tr").count(), search.trials);
  await trials.getByRole("button", { name: `Best ${metric}` }).click();
  const header = await trials.locator("th").allInnerTexts();
  const column = header.findIndex((name) => name.startsWith("Best"));
  const values = (await trials.locator(`tbody td:nth-child(${column + 1})`).allInnerTexts()).map(Number);
  assert.deepEqual(values, values.toSorted((a, b) => a - b));
  await done("trials are a table with a column for each hyperparameter, sorted by a click");

  await tab("configuration").click();
  await page.getByRole("heading", { name: "As submitted" }).waitFor();
  assert.match(await text(page.locator(".code pre:not(.lines)")), /searcher:/);
  await tab("code").click();
  const files = page.getByRole("navigation", { name: "Submitted files" });
  await files.getByRole("button", { name: "model_def.py" }).click();
  assert.match(await text(page.locator(".code pre:not(.lines)")), /class NoisyTrial/);
  await page.locator(".code .code-keyword", { hasText: "class" }).first().waitFor();
  const downloading = page.waitForEvent("download");
  await files.getByRole("button", { name: "Download all" }).click();
  assert.equal((await downloading).suggestedFilename(), `experiment-${id}.tar.gz`);
  await done("configuration and code are shown as they were submitted");

  await tab("notes").click();
  await page.getByRole("button", { name: "Edit notes" }).click();
  await page.getByRole("textbox", { name: "notes" }).fill("Works.\n<b>not bold</b>");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("<b>not bold</b>").waitFor();
  await page.getByRole("button", { name: "Edit labels" }).click();
  await page.getByRole("textbox", { name: "labels" }).fill(`${search.label}, walked`);
  await page.keyboard.press("Enter");
  await page.locator(".label", { hasText: "walked" }).waitFor();
  await page.getByRole("button", { name: "Edit description" }).click();
  await page.keyboard.press("Escape");
  await done("notes, labels and description are edited in their place");

  await tab("checkpoints").click();
  const checkpoints = page.getByRole("table", { name: "Checkpoints" });
  await checkpoints.locator("tbody button").first().click();
  await page.getByRole("dialog").getByText("det checkpoint download").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await tab("logs").click();
  await page.locator(".logs .line").first().waitFor();
  await done("its checkpoints and logs are there");

  await tab("overview").click();
  const facts = page.getByRole("region", { name: "Details" });
  const dialog = page.getByRole("dialog");
  await facts.getByText(/^until the experiment is deleted \(trial \d+; others may differ\)/).waitFor();
  await facts.getByRole("button", { name: "Change log retention" }).click();
  await dialog.getByLabel("Keep logs").selectOption("for some days after a trial ends");
  await dialog.getByLabel(/^Days/).fill("40000");
  await dialog.getByRole("alert").getByText("from 0 to 32767").waitFor();
  assert(await dialog.getByRole("button", { name: "Save" }).isDisabled());
  await dialog.getByLabel(/^Days/).fill("30");
  await dialog.getByRole("button", { name: "Save" }).click();
  await facts.getByText(/^30 more days \(trial \d+;/).waitFor();
  await done("for how long its logs are kept is shown and changed");

  await page.getByRole("button", { name: "fork" }).click();
  const asked = page.getByRole("dialog");
  const trialsMax = asked.getByRole("textbox", { name: "max_trials", exact: true });
  await trialsMax.fill("0");
  await trialsMax.press("Enter");
  await asked.getByText("searcher.max_trials must be at least 1.").waitFor();
  assert.equal(await trialsMax.getAttribute("aria-invalid"), "true");
  await trialsMax.fill("2");
  await asked.getByRole("combobox", { name: "Field to add" }).fill("resources.slots_per_tria");
  await asked.getByRole("button", { name: "Add field" }).click();
  await asked.getByText("There is no field resources.slots_per_tria.").waitFor();
  await asked.getByRole("combobox", { name: "Field to add" }).fill("resources.slots_per_trial");
  await asked.getByRole("combobox", { name: "Field to add" }).press("Enter");
  assert.equal(await asked.getByRole("textbox", { name: "slots_per_trial" }).inputValue(), "1");
  await done("a fork is configured in a form, by the schema of configurations");
  await asked.getByRole("button", { name: "YAML" }).click();
  const config = page.getByRole("textbox", { name: "Configuration (YAML)" });
  assert.match(await config.inputValue(), /max_trials: 2\n/);
  assert.match(await config.inputValue(), /\nresources:\n {2}slots_per_trial: 1\n/);
  assert.match(await config.inputValue(), /name: Fork of /);
  await page.getByLabel("Start immediately").uncheck();
  expectRefusals(1);
  const text0 = await config.inputValue();
  await config.fill(text0.replace("searcher:", "searchr:"));
  await page.getByText("Changes to the configuration of experiment").click();
  const changes = page.getByRole("region", { name: "Changes to the configuration" });
  await changes.locator(".added", { hasText: "searchr:" }).waitFor();
  await changes.locator(".removed", { hasText: "searcher:" }).waitFor();
  await page.getByRole("button", { name: "Create paused" }).click();
  await page.getByRole("dialog").getByRole("alert").waitFor();
  assert.match(await text(page.getByRole("dialog").getByRole("alert")), /searchr/);
  await config.fill(text0);
  await page.getByRole("button", { name: "Create paused" }).click();
  await page.waitForURL((url) => /\/det\/experiments\/\d+$/.test(url.pathname) && !url.pathname.endsWith(`/${id}`));
  await page.getByText("forked from").waitFor();
  await page.getByRole("button", { name: "activate" }).waitFor();
  await page.getByRole("button", { name: "kill" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Kill", exact: true }).click();
  await page.locator("header .state", { hasText: "canceled" }).waitFor();
  await page.getByRole("button", { name: "more" }).click();
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.innerText.trim().slice(0, 4)), "More", "the keyboard goes on where it was");
  await page.getByRole("button", { name: "more" }).click();
  await page.getByRole("button", { name: "delete" }).click();
  expectRefusals(1);
  const fork = path();
  const refuse = (route) => (route.request().method() === "DELETE" ? route.fulfill({ status: 409, json: { error: { error: "checkpoints of it are in use" } } }) : route.fallback());
  await page.route("**/api/v1/experiments/*", refuse);
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").getByText("checkpoints of it are in use").waitFor();
  assert.equal(path(), fork, "what is refused is no success");
  await page.unroute("**/api/v1/experiments/*", refuse);
  await done("a refused delete says why, and the experiment stays on the screen");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "more" }).click();
  await page.getByRole("button", { name: "delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.waitForURL(/\/det\/experiments$/);
  await done("it is forked; a wrong configuration is refused in words; the fork is killed and deleted");

  await open(`/det/experiments/${lonely.id}`);
  await page.getByRole("button", { name: "Edit labels" }).click();
  const labels = page.getByRole("textbox", { name: "labels" });
  assert.equal(await labels.inputValue(), `"${lonely.label}"`);
  await labels.fill(`"${lonely.label}", two`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".label", { hasText: "two" }).waitFor();
  assert.deepEqual(await page.locator("header .label").allInnerTexts(), [lonely.label, "two"]);
  await done("a label with a comma stays one");

  expectRefusals(2);
  await open("/det/experiments/999999999");
  await page.getByRole("alert").waitFor();
  assert.match(await text(page.getByRole("alert")), /999999999/);
  await page.getByRole("heading", { level: 1, name: "Experiment 999999999" }).waitFor();
  problems.splice(0, problems.length, ...problems.filter((problem) => !problem.includes("404")));
}

/** A part of an axis is selected with the pointer, kept in the address, and given up again. */
async function brushed({ page, done }, trials) {
  const axis = page.locator("svg.parallel rect.brushed").last();
  await axis.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await axis.boundingBox();
  await page.mouse.move(x + width / 2, y + height - 1);
  await page.mouse.down();
  await page.mouse.move(x + width / 2, y + height * 0.6, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/brush=/);
  const shown = page.getByText(new RegExp(`^\\d+ of ${trials} trials$`));
  await shown.waitFor();
  const count = await page.locator("svg.parallel path.hit").count();
  assert(count > 0 && count < trials, `${count} of ${trials} trials are selected`);
  await page.reload();
  await shown.waitFor();
  await done("parallel coordinates are narrowed down to a part of an axis");
  await page.getByRole("button", { name: "Show all" }).click();
  await page.waitForFunction((all) => document.querySelectorAll("svg.parallel path.hit").length === all, trials);
}
