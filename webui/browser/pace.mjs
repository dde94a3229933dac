// Measures how long a person waits, for bench/webui.py: pace.mjs <URL of the master> <number of experiments>

import { chromium } from "playwright-core";

const [base, wanted] = process.argv.slice(2);
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
    run: (round) => page.getByRole("searchbox").fill(`#${round + 11}`),
    expects: (round) => `${round + 11}`,
  },
  (id) => {
    const rows = [...document.querySelectorAll("table[aria-label=Experiments] tbody tr")];
    return rows.length === 1 && rows[0].innerText.trim().startsWith(id);
  },
);
await measure(
  "sort by name",
  { prepare: plain, run: () => page.getByRole("button", { name: "Name" }).click(), expects: () => "model 0" },
  first,
);
await measure(
  "next page",
  { prepare: plain, run: () => page.getByRole("button", { name: "Next" }).click(), expects: () => String(wanted - 50) },
  first,
);
await browser.close();
