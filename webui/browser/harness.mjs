// What every part of the walk uses: a browser, a page whose complaints are kept, steps with screenshots.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { accessibilityProblems } from "./accessibility.mjs";

/** Answers that a step provokes on purpose; the browser reports each in its console. */
const expectedOnce = /status of (401|403|404|409|412|400)/;

export async function start(base, pictures) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  const context = await browser.newContext({ viewport: { width: 1360, height: 850 }, colorScheme: "light", acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const problems = [];
  let refusals = 1; // the first question, "who am I", is answered 401
  page.on("console", (message) => {
    if (message.type() !== "error") return;
    if (expectedOnce.test(message.text()) && refusals > 0) refusals -= 1;
    else problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${base}/`)) problems.push(`asks ${request.url()}`);
  });

  let steps = 0;
  return {
    base,
    page,
    browser,
    problems,
    /** The next `count` refused calls are part of the test. */
    expectRefusals: (count = 1) => {
      refusals += count;
    },
    open: (path) => page.goto(base + path),
    /** Makes the browser a user's from the next `open` on. */
    become: async (username, password = "") => {
      const reply = await page.request.post(`${base}/api/v1/auth/login`, { data: { username, password, isHashed: false } });
      assert.equal(reply.status(), 200, `${username} cannot log in: ${await reply.text()}`);
    },
    /** Path and query of the address. */
    path: () => new URL(page.url()).pathname + new URL(page.url()).search,
    text: (locator) => locator.first().innerText(),
    /** A step is done: it looked well, nothing complained, and everyone can use it. */
    async done(what) {
      steps += 1;
      // Colours on their way are nobody's choice.
      await page.evaluate(() =>
        Promise.allSettled(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished)),
      );
      if (pictures && process.env.DET_PICTURES) await page.screenshot({ path: `${pictures}/${String(steps).padStart(2, "0")}.png` });
      assert.deepEqual(problems, [], `the browser complained: ${what}`);
      assert.deepEqual(await accessibilityProblems(page), [], `not accessible: ${what}`);
      console.log(`ok ${steps} ${what}`);
    },
    async failed(failure) {
      if (pictures) await page.screenshot({ path: `${pictures}/failed.png` });
      console.error(`not ok ${steps + 1}\n${problems.join("\n")}\n${page.url()}\n${await page.locator("body").innerText()}`);
      console.error(failure);
    },
    async end() {
      console.log(`1..${steps}`);
      await browser.close();
    },
  };
}
