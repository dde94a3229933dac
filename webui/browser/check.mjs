// Uses the pages as a person does, in Chromium, against a running master:
//
//   npm run check-browser -- http://127.0.0.1:8080 [directory for screenshots]
//
// The master must have at least one experiment that has reported metrics and
// printed lines. Fails on any error in the console, on any request that is
// refused by the content security policy, and on any request to another host.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const [base, pictures] = process.argv.slice(2);
assert(base, "usage: check.mjs <URL of the master> [directory for screenshots]");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
const page = await context.newPage();
const problems = [];
page.on("console", (message) => {
  // The first question, "who am I", is answered 401 by design.
  if (message.type() === "error" && !message.text().includes("401")) problems.push(message.text());
});
page.on("pageerror", (error) => problems.push(String(error)));
page.on("request", (request) => {
  if (!request.url().startsWith(base) && !request.url().startsWith("data:")) problems.push(`asks ${request.url()}`);
});

let step = 0;
async function done(what) {
  step += 1;
  if (pictures) await page.screenshot({ path: `${pictures}/${step}.png` });
  console.log(`ok ${step} ${what}`);
}
const text = (locator) => locator.first().innerText();
const path = () => new URL(page.url()).pathname + new URL(page.url()).search;

try {
  await page.goto(`${base}/`);
  const rows = page.locator("tbody tr");
  await rows.first().waitFor();
  assert.equal(path(), "/det/");
  await done("the default user is logged in silently and sees experiments");

  const name = await text(rows.first().locator("td:nth-child(2) a"));
  const id = await text(rows.first().locator("td:nth-child(1) a"));
  await page.getByRole("searchbox").fill(name);
  await page.waitForURL(/search=/);
  await rows.first().waitFor();
  assert.equal(await text(rows.first().locator("td:nth-child(2) a")), name);
  await page.getByRole("searchbox").fill(id);
  await page.waitForURL(new RegExp(`search=${id}$`));
  await page.locator(`tbody a[href="/det/experiments/${id}"]`).first().waitFor();
  await page.getByRole("searchbox").fill("no experiment is called like this");
  await page.getByText("No experiment matches.").waitFor();
  await done("experiments are found by name and number, and the address says so");

  await page.goBack();
  await page.goto(`${base}/det/experiments`);
  await page.locator(`tbody a[href="/det/experiments/${id}"]`).first().click();
  await page.locator("figure.chart canvas").first().waitFor();
  assert.equal(path(), `/det/experiments/${id}`);
  const drawn = await page.locator("figure.chart canvas").first().evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200) colours.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
    return [...colours].some((c) => c === "42,111,219" || c === "224,122,31");
  });
  assert(drawn, "a curve is drawn in its colour");
  await done("an experiment shows its metrics as curves");

  const pause = page.getByRole("button", { name: "pause" });
  if (await pause.isVisible()) {
    await pause.click();
    await page.getByRole("button", { name: "activate" }).click();
    await pause.waitFor();
    await done("and is paused and activated by its buttons");
  }

  await page.getByRole("link", { name: "configuration" }).click();
  await page.getByText("As submitted").waitFor();
  assert.equal(path(), `/det/experiments/${id}/configuration`);
  assert.match(await text(page.locator("pre.code").first()), /searcher/);
  await done("and its configuration");

  await page.getByRole("link", { name: "logs" }).click();
  await page.locator(".logs pre").first().waitFor();
  assert.notEqual((await text(page.locator(".logs pre"))).trim(), "");
  await done("and its logs");

  await page.goto(`${base}/det/experiments/${id}`);
  await page.locator('section[aria-label="Trials"] tbody a').first().click();
  await page.waitForURL(/\/det\/trials\/\d+$/);
  await page.getByText("Hyperparameters").waitFor();
  await page.locator("figure.chart canvas").first().waitFor();
  await page.reload();
  await page.locator("figure.chart canvas").first().waitFor();
  await done("a trial's page is a link that survives a reload");

  await page.getByRole("link", { name: "logs" }).click();
  await page.locator(".logs pre").first().waitFor();
  await done("a trial has its own logs");

  await page.goto(`${base}/det/experiments/999999999`);
  await page.getByRole("alert").waitFor();
  assert.match(await text(page.getByRole("alert")), /999999999/);
  problems.splice(0, problems.length, ...problems.filter((p) => !p.includes("404")));
  await done("an experiment that does not exist is named in a sentence");

  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await page.getByLabel("User").fill("admin");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Password").fill("");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("admin", { exact: false }).first().waitFor();
  await page.getByRole("button", { name: "Log out" }).waitFor();
  problems.splice(0, problems.length, ...problems.filter((p) => !/40[0134]/.test(p)));
  await done("one can log out, is refused with a wrong password, and logs in as admin");

  assert.deepEqual(problems, [], "the browser complained");
  console.log("1..%d", step);
} catch (failure) {
  if (pictures) await page.screenshot({ path: `${pictures}/failed.png` });
  console.error(problems.join("\n"));
  console.error(await page.locator("body").innerText());
  throw failure;
} finally {
  await browser.close();
}
