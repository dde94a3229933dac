import assert from "node:assert/strict";

/** A search that optimizes two metrics: its front. `front`: [trial, first metric, second metric] each. */
export async function pareto({ page, open, done }, { experiment, validations, front, metrics }) {
  await open(`/det/experiments/${experiment}/search`);
  const region = page.getByRole("region", { name: "Pareto front" });
  await region.getByRole("img", { name: new RegExp(`^${metrics[1]} over ${metrics[0]}`) }).waitFor();
  const best = region.locator("circle.best");
  assert.equal(await best.count(), front.length);
  assert.equal(await region.locator("circle").count(), validations);
  const titles = await best.locator("title").allTextContents();
  for (const [trial, one, other] of front)
    assert(titles.some((title) => title.startsWith(`Trial ${trial} at`) && title.includes(`${metrics[1]} ${other}`)), `${trial} ${one} ${other}: ${titles}`);
  await done("the validations that nothing beats in both metrics stand out");

  await best.last().click(); // the last is on top where several are equal
  await page.waitForURL(/\/det\/trials\/\d+/);
  await page.getByRole("heading", { level: 1, name: "Trial" }).waitFor();
  await done("a click on one shows its trial");
}
