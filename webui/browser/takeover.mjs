import assert from "node:assert/strict";

/** Two masters: a page that is open follows the one that leads. */
export async function takeover({ browser }, { leader, standby, process: pid, experiment }) {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(30_000);
  const reply = await page.request.post(`${leader}/api/v1/auth/login`, { data: { username: "determined", password: "", isHashed: false } });
  assert.equal(reply.status(), 200);
  const path = `/det/experiments/${experiment}`;
  await page.goto(standby + path);
  assert.equal(page.url(), leader + path, "who opens a page at the standby sees it at the leader");
  const chart = page.locator("figure.chart [role=img]").first();
  const points = async () => Number(/(\d+) points/.exec((await chart.getAttribute("aria-label")) ?? "0 points")[1]);
  await page.locator("figure.chart canvas").first().waitFor();
  const before = await points();
  console.log("ok 1 a page at the standby leads to the leader");

  process.kill(pid, "SIGKILL");
  await page.getByText("Cannot reach the master.").first().waitFor();
  console.log("ok 2 a page says that its master is gone");

  // The test starts that master again, as its supervisor would; it stands by then.
  // Not waitForURL, which fails when one visit is given up for the next.
  for (let tenths = 0; page.url() !== standby + path && tenths < 300; tenths++) await page.waitForTimeout(100);
  assert.equal(page.url(), standby + path);
  await page.locator("figure.chart canvas").first().waitFor();
  while ((await points()) <= before) await page.waitForTimeout(100);
  console.log("ok 3 it goes to the new leader by itself, and its curves grow on");
}
