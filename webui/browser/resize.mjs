import assert from "node:assert/strict";

/** What of an experiment can be changed once it is submitted: how far it trains, and what it may take of the cluster. */
export async function resize({ page, open, text, done, expectRefusals }, { long, resumed, search }) {
  const dialog = page.getByRole("dialog");
  const more = async (name) => {
    await page.getByRole("button", { name: "more" }).click();
    await page.getByRole("button", { name, exact: true }).click();
  };
  await open(`/det/experiments/${long.id}`);
  await more("Edit search and resources");
  const length = dialog.getByLabel(/^Length of each trial in batches/);
  const now = Number(await length.inputValue());
  await length.fill("5");
  assert.match(await text(dialog.getByRole("alert")), new RegExp(`Length of each trial in batches is 5; it must be ${now} or more`));
  assert(await dialog.getByRole("button", { name: "Save" }).isDisabled());
  await done("a search can be made larger, not smaller, and says so while one types");
  await length.fill(String(now + 1));
  await dialog.getByLabel(/^Priority/).fill("7");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("navigation", { name: "Experiment sections" }).getByRole("link", { name: "configuration" }).click();
  const defaults = page.getByRole("region", { name: "With all defaults" });
  await defaults.getByText(`"batches": ${now + 1}`).waitFor();
  await defaults.getByText('"priority": 7').waitFor();

  await open(`/det/experiments/${resumed.id}`);
  await page.locator("header .state", { hasText: "completed" }).waitFor();
  await page.getByRole("button", { name: "more" }).click();
  assert.equal(await page.getByRole("button", { name: "Extend search" }).count(), 0, "a search of one trial is over");
  await page.getByRole("button", { name: "Resume" }).click();
  const override = dialog.getByLabel(/Configuration changes/);
  assert.match(await override.inputValue(), /^searcher:\n {2}max_length:\n {4}batches: 600\n$/);
  await override.fill("searcher: {max_length: {batches: 10}}");
  expectRefusals(1);
  await dialog.getByRole("button", { name: "Resume" }).click();
  await dialog.getByRole("alert").waitFor();
  await override.fill("searcher: {max_length: {batches: 320}}");
  await done("a finished trial goes on in its place, for a greater length");
  await dialog.getByRole("button", { name: "Resume" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.locator("header .state", { hasText: /running|queued|active|starting/ }).waitFor();
  await page.locator("header .state", { hasText: "completed" }).waitFor({ timeout: 60_000 });
  await open(`/det/experiments/${search.id}`);
  await more("Extend search");
  const trials = dialog.getByLabel(/^Total trials/);
  await trials.fill(String(Number(await trials.inputValue()) + 1));
  await done("a completed experiment can be extended");
  await dialog.getByRole("button", { name: "Extend" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.locator("header .state", { hasText: /running|queued|active|starting/ }).waitFor();
  await page.locator("header .state", { hasText: "completed" }).waitFor({ timeout: 60_000 });
  await done("and goes on where it ended");
}
