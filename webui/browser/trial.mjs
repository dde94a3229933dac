import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { isDrawn } from "./experiment.mjs";

/** One trial that was interrupted and went on: curves, workloads, runs, logs; and trials beside each other. */
export async function trial({ page, open, path, text, done, expectRefusals }, { resumed, search, profiled, curve, lonely }) {
  const id = resumed.trial;
  const tab = (name) => page.getByRole("navigation", { name: "Trial sections" }).getByRole("link", { name });
  await open(`/det/experiments/${resumed.id}`);
  await page.getByRole("table", { name: "Trials" }).locator("tbody a").first().click();
  await page.waitForURL(new RegExp(`/det/trials/${id}$`));
  await isDrawn(page, page.locator("figure.chart").first());
  await page.getByRole("heading", { name: "Hyperparameters" }).waitFor();
  await page.reload();
  await isDrawn(page, page.locator("figure.chart").first());
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  assert.match(readFileSync(await (await downloading).path(), "utf8"), /^trial,group,batches,records,time,.*loss.*\r\n\d+,training,10,\d+,/);
  await page.getByRole("combobox", { name: "Smoothing" }).selectOption("0.9");
  await page.waitForURL(/smooth=0.9/);
  await done("a trial's page is a link that survives a reload");

  await tab("runs").click();
  const runs = page.getByRole("table", { name: "Runs" });
  await runs.locator("tbody tr").nth(1).waitFor();
  await page.getByRole("img", { name: /^2 runs in / }).waitFor();
  const happened = page.getByRole("table", { name: "What happened" }).locator("tbody tr");
  const story = (await happened.allInnerTexts()).reverse().join("\n");
  for (const event of [/Run 1 started on \S+ with 1 slot/, /Saved a checkpoint after batch \d+/, /Run 1 ended: the experiment was paused/, /Run 2 started/, /Validated after batch \d+: validation_loss [\d.]+/])
    assert.match(story, event);
  await done("its timeline shows when it waited and ran, and what happened");
  assert.match(await text(runs.locator("tbody tr").nth(0)), /the beginning/);
  assert.match(await text(runs.locator("tbody tr").nth(1)), /checkpoint [0-9a-f-]{36} after batch \d+/);
  const proof = page.getByRole("region", { name: "Exact resume" });
  await proof.getByText(/Run 2 resumed after batch \d+, where checkpoint/).waitFor();
  await proof.getByText("All runs had the same versions").waitFor();
  await proof.getByText("PyTorch used deterministic algorithms").waitFor();
  assert.equal(await proof.getByText(/fails|unknown/).count(), 0);
  await done("what an exact resume rests on is checked for each run");
  await tab("profile").click();
  await page.getByText("The profiler was not enabled.").waitFor();
  await open(`/det/trials/${profiled}/profile`);
  await isDrawn(page, page.locator("figure.chart", { hasText: "CPU utilization, %" }));
  await page.locator("figure.chart", { hasText: "Memory free, GiB" }).waitFor();
  await done("how busy the machines were is a chart each");
  await open(`/det/trials/${profiled}`);
  await page.getByRole("checkbox", { name: "Hardware" }).check();
  await page.waitForURL(/hardware=1/);
  const busy = page.locator("figure.chart", { hasText: "CPU utilization, %" });
  await isDrawn(page, busy);
  assert.match(await text(busy), /batches/);
  await page.reload();
  await isDrawn(page, busy);
  await done("the use of the machines is drawn beside the metrics, on the same axis");
  await open(`/det/trials/${id}`);
  await tab("workloads").click();
  await page.getByRole("button", { name: "validation" }).click();
  await page.waitForURL(/only=validation/);
  const workloads = page.getByRole("table", { name: "Workloads" });
  assert.match(await text(workloads.locator("tbody tr")), /validation_loss/);
  await tab("environment").click();
  await page.getByRole("region", { name: "Packages" }).first().getByText("torch", { exact: true }).waitFor();
  await done("its runs say which checkpoint each began from; its workloads what it did, its environment where");

  await tab("logs").click();
  const lines = page.locator(".logs .line");
  await lines.first().waitFor();
  assert(await lines.count() < 200, "only the lines on the screen are in the page");
  await page.getByRole("searchbox").fill("going on after");
  await page.waitForURL(/find=/);
  await page.waitForFunction(() => document.querySelectorAll(".logs .line").length === 1);
  assert.equal(await text(page.locator(".logs mark")), "going on after");
  await page.getByRole("searchbox").fill("");
  await page.waitForFunction(() => document.querySelectorAll(".logs .line").length > 10);
  await page.getByRole("spinbutton", { name: "Rank" }).fill("7");
  await page.getByText("No log lines match these filters.").waitFor();
  await page.getByRole("spinbutton", { name: "Rank" }).fill("");
  await page.getByRole("combobox", { name: "Level", exact: true }).selectOption("ERROR");
  await page.getByText("No log lines match these filters.").waitFor();
  await page.getByRole("combobox", { name: "Level", exact: true }).selectOption("");
  await page.getByRole("button", { name: "From start" }).click();
  await page.waitForFunction(() => document.querySelector(".logs .line")?.innerText.includes("(run 1) starts"));
  await done("its log is searched and filtered by the master, and read from both ends");

  await open(`/det/trials/${profiled}/logs`);
  const coloured = page.locator(".logs .ansi-1", { hasText: "red" });
  await coloured.waitFor();
  await page.locator(".logs .line", { hasText: "red and plain" }).waitFor();
  assert.equal(await coloured.evaluate((part) => getComputedStyle(part).fontWeight), "700");
  await done("a log has the colours that were printed");

  const raised = page.locator(".logs .line", { hasText: "ValueError: odd batch" });
  await raised.getByRole("button", { name: /^Show \d lines$/ }).waitFor();
  assert.equal(await page.getByText("Traceback (most recent call last)").count(), 0);
  await page.getByText("1 error in the lines loaded").waitFor();
  await page.getByRole("button", { name: "Next error" }).click();
  await page.locator(".logs .line.current", { hasText: "ValueError: odd batch" }).waitFor();
  await raised.getByRole("button").click();
  await page.getByText("Traceback (most recent call last)").waitFor();
  await page.getByRole("button", { name: "Fold" }).waitFor();
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const log = await saving;
  assert.equal(log.suggestedFilename(), `trial-${profiled}.log`);
  assert.match(readFileSync(await log.path(), "utf8"), /rank 0 Traceback \(most recent call last\):\n/);
  await done("a stack trace is folded, errors are gone to, and a log is saved");

  await open(`/det/trials/${lonely.trial}`);
  await page.getByRole("img", { name: /1 points/ }).waitFor();
  const dot = page.locator("figure.chart canvas").first();
  await page.waitForFunction((canvas) => {
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(width / 4, 0, width / 2, height);
    let coloured = 0;
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 100 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) coloured += 1;
    return coloured > 5;
  }, await dot.elementHandle());
  await done("a value alone is a point");

  await zoomed({ page, open, done }, curve);
}

/** A curve of more reports than a chart shows: who looks at a part of it gets that part from the master. */
async function zoomed({ page, open, done }, { trial: id, reports, peak }) {
  await open(`/det/trials/${id}`);
  const figure = page.locator("figure.chart").first();
  await isDrawn(page, figure);
  const points = async () => Number(/(\d+) points/.exec(await figure.getByRole("img").getAttribute("aria-label"))[1]);
  const whole = await points();
  assert(whole < reports / 1.2, `${whole} points of ${reports} reports`);
  const box = await figure.locator(".u-over").boundingBox();
  const at = (part) => box.x + box.width * part;
  const around = peak / reports;
  const detail = page.waitForResponse(/trials\/time-series\?.*startBatches=/);
  await page.mouse.move(at(around - 0.1), box.y + 40);
  await page.mouse.down();
  await page.mouse.move(at(around + 0.1), box.y + 50, { steps: 3 });
  await page.mouse.up();
  const { trials } = await (await detail).json();
  const { data } = trials[0].metrics[0];
  assert(data.length > reports * 0.19 && data.length < reports * 0.22, `${data.length} points in a fifth of ${reports}: all of them`);
  assert(data.some(({ batches, values }) => batches === peak && values.loss === 9), "the peak is among them");
  await page.waitForURL(/zoom=/);
  await page.waitForFunction((before) => Number(/(\d+) points/.exec(document.querySelector("figure.chart [role=img]").ariaLabel)[1]) > before, whole);
  await done("a part of a long curve is shown in all its detail");

  const finer = await points();
  const again = page.waitForResponse(/startBatches=/);
  await page.reload();
  await again;
  await page.waitForFunction((wanted) => Number(/(\d+) points/.exec(document.querySelector("figure.chart [role=img]")?.ariaLabel ?? "0 points")[1]) === wanted, finer);
  await page.getByRole("button", { name: "Reset zoom" }).click();
  await page.waitForURL((url) => !url.searchParams.has("zoom"));
  await page.waitForFunction((wanted) => Number(/(\d+) points/.exec(document.querySelector("figure.chart [role=img]").ariaLabel)[1]) === wanted, whole);
  await done("what is zoomed to is a link, and all of the curve a click away");
}
