// Measures how long a person waits, for bench/webui.py:
// pace.mjs <URL of the master> <number of experiments> <trial with a long curve> <its points>

import { chromium } from "playwright-core";

const [base, wanted, trial, points] = process.argv.slice(2);
const rounds = 7;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const page = await (await browser.newContext({ viewport: { width: 1360, height: 850 } })).newPage();
const total = Number(wanted).toLocaleString("en-US");

/** From an action to the moment at which what it asks for is on the screen; the middle of some rounds. */
async function measure(what, act, shows) {
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    await act.prepare?.(round);
    const begin = performance.now();
    await act.run(round);
    await page.waitForFunction(shows, act.expects?.(round), { polling: "raf" });
    times.push(performance.now() - begin);
  }
  times.sort((a, b) => a - b);
  console.log(`${what}: ${Math.round(times[(rounds - 1) / 2])} ms (${Math.round(times[0])}–${Math.round(times[rounds - 1])})`);
}

const first = (text) => document.querySelector("table[aria-label=Experiments] tbody tr")?.innerText.includes(text) ?? false;
const plain = async () => {
  await page.goto(`${base}/det/experiments`);
  await page.waitForFunction(first, String(wanted));
};

await page.goto(`${base}/det/experiments`);
await page.waitForFunction(first, String(wanted));
const paints = [];
for (let round = 0; round < rounds; round += 1) {
  await page.reload();
  await page.waitForFunction(first, String(wanted));
  paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
}
paints.sort((a, b) => a - b);
console.log(`first paint: ${Math.round(paints[(rounds - 1) / 2])} ms (${Math.round(paints[0])}–${Math.round(paints[rounds - 1])})`);

await measure(`page of the list, of ${total} experiments`, { run: () => page.reload(), expects: () => String(wanted) }, first);
await measure(
  "search by number (with 200 ms of waiting for the next key)",
  {
    prepare: plain,
    run: (round) => page.getByRole("combobox", { name: "Filter by words or an expression" }).fill(`#${round + 11}`),
    expects: (round) => `${round + 11}`,
  },
  (id) => {
    const rows = [...document.querySelectorAll("table[aria-label=Experiments] tbody tr")];
    return rows.length === 1 && rows[0].innerText.trim().startsWith(id);
  },
);
await measure(
  "sort by name",
  { prepare: plain, run: () => page.getByRole("button", { name: "Name", exact: true }).click(), expects: () => "model 0" },
  first,
);
const rows = () => document.querySelectorAll("table[aria-label=Experiments] tbody tr[aria-rowindex]:not([aria-busy])").length;
await measure(
  "jump to the middle of the list",
  {
    prepare: plain,
    run: () =>
      page.evaluate(() => {
        const box = document.querySelector(".table.scrolled");
        box.scrollTop = box.scrollHeight / 2;
      }),
    expects: () => Number(wanted) / 2,
  },
  (middle) => [...document.querySelectorAll("tbody tr[aria-rowindex]:not([aria-busy])")].some((row) => Math.abs(row.ariaRowIndex - middle) < 50),
);
await measure(
  "group by a label",
  { prepare: plain, run: () => page.getByRole("combobox", { name: "Group by" }).selectOption("labels") },
  () => document.querySelector("tr.group") !== null,
);

// Scrolls as a wheel does, through all that is loaded and what is not, and looks at every frame.
await plain();
const frames = await page.evaluate(
  () =>
    new Promise((resolve) => {
      const box = document.querySelector(".table.scrolled");
      const times = [];
      let last = performance.now();
      const begun = last;
      const frame = (now) => {
        times.push(now - last);
        last = now;
        box.scrollTop += 40;
        if (now - begun < 5000) requestAnimationFrame(frame);
        else resolve(times.slice(1));
      };
      requestAnimationFrame(frame);
    }),
);
frames.sort((a, b) => a - b);
const at = (share) => frames[Math.min(frames.length - 1, Math.floor(share * frames.length))].toFixed(1);
console.log(`scrolling 40 pixels a frame for 5 s: ${(frames.length / 5).toFixed(0)} frames a second (a frame: ${at(0.5)} ms, p99 ${at(0.99)}); ${await page.evaluate(rows)} rows in the page`);

const drawn = () => document.querySelector("figure.chart [role=img] canvas") !== null;
/** Changes with the numbers below the chart: where it begins and ends. */
const scale = () => {
  const canvas = document.querySelector("figure.chart canvas");
  const below = canvas.getContext("2d").getImageData(0, canvas.height - 50, canvas.width, 50).data;
  return below.reduce((sum, byte, i) => (sum * 31 + byte + i) % 1_000_003, 0);
};
const trialPage = async () => {
  await page.goto(`${base}/det/trials/${trial}`);
  await page.waitForFunction(drawn);
};
const curve = Number(points).toLocaleString("en-US");
await trialPage();
console.log(await page.locator("figure.chart [role=img]").first().getAttribute("aria-label"));
await measure(`page of a trial with a curve of ${curve} points, until it is drawn`, { run: () => page.reload() }, drawn);

/** Says how many points the chart has. */
const label = () => document.querySelector("figure.chart [role=img]").ariaLabel;
const zoomed = [];
const detailed = [];
for (let round = 0; round < rounds; round += 1) {
  await trialPage();
  const [before, whole] = [await page.evaluate(scale), await page.evaluate(label)];
  const { x, y, width, height } = await page.locator("figure.chart .u-over").first().boundingBox();
  await page.mouse.move(x + width * 0.4, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.6, y + height / 2, { steps: 4 });
  const begin = performance.now();
  await page.mouse.up();
  await page.waitForFunction(`(${scale})() !== ${before}`, undefined, { polling: "raf" });
  zoomed.push(performance.now() - begin);
  await page.waitForFunction((text) => document.querySelector("figure.chart [role=img]").ariaLabel !== text, whole, { polling: "raf" });
  detailed.push(performance.now() - begin);
}
for (const [what, times] of [["zoom into a fifth of it", zoomed], ["the detail of that fifth (with 250 ms of waiting for the next zoom)", detailed]]) {
  times.sort((a, b) => a - b);
  console.log(`${what}: ${Math.round(times[(rounds - 1) / 2])} ms (${Math.round(times[0])}–${Math.round(times[rounds - 1])})`);
}

// A trial that reports, and a curve that moves.
const call = (path, method, body) =>
  page.evaluate(
    async ([to, how, what]) => (await fetch(to, { method: how, headers: { "Content-Type": "application/json" }, body: JSON.stringify(what) })).json(),
    [path, method, body],
  );
const config = "name: live\nsearcher: {name: single, metric: loss, max_length: {batches: 1000}}\n";
const { experiment } = await call(`/api/v1/experiments/by-external-id/live-${Date.now()}`, "PUT", { config, unmanaged: true });
const made = { createTrialRequest: { experimentId: experiment.id, hparams: {}, unmanaged: true }, externalTrialId: `live-${Date.now()}` };
const live = (await call("/api/v1/trials", "PUT", made)).trial.id;
const { trialRunId } = await call(`/api/v1/trials/${live}/start`, "POST", { resume: true });
const report = (step) =>
  call(`/api/v1/trials/${live}/metrics`, "POST", {
    group: "training",
    metrics: { trialId: live, trialRunId, stepsCompleted: step, metrics: { avgMetrics: { loss: 1 / step } } },
  });
for (const step of [1, 2, 3]) await report(step);
await page.goto(`${base}/det/trials/${live}`);
await page.waitForFunction(drawn);
let step = 3;
await measure(
  "a report, until its curve has moved",
  {
    prepare: () => page.waitForTimeout(2000),
    run: () => report((step += 1)),
    expects: () => step,
  },
  (n) => document.querySelector("figure.chart [role=img]").ariaLabel.includes(`${n} points`),
);
await browser.close();
