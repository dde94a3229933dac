// Measures how much of a processor pages take while trials report, for bench/webui.py --busy:
// busy.mjs <URL of the master> <seconds> <path>...

import { chromium } from "playwright-core";

const [base, seconds, ...paths] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await (await browser.newContext({ viewport: { width: 1360, height: 850 } })).newPage();
const session = await browser.newBrowserCDPSession();

/** The processor time of the pages' processes, and of all others of the browser, in seconds. */
async function used() {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const sum = (those) => those.reduce((all, { cpuTime }) => all + cpuTime, 0);
  return { pages: sum(processInfo.filter(({ type }) => type === "renderer")), all: sum(processInfo) };
}

await page.goto(`${base}/det/`);
await page.getByRole("heading").first().waitFor();
for (const path of paths) {
  await page.goto(base + path);
  await page.locator("main table, main figure.chart").first().waitFor();
  await page.waitForTimeout(2000);
  const [before, begin] = [await used(), performance.now()];
  await page.waitForTimeout(Number(seconds) * 1000);
  const [after, elapsed] = [await used(), (performance.now() - begin) / 1000];
  const share = (name) => Math.round((100 * (after[name] - before[name])) / elapsed);
  console.log(`${path.replace(/(\d+,\d+,).*/, "$1…")}: the page ${share("pages")} % of a processor, the browser in all ${share("all")} %`);
}
await browser.close();
