import assert from "node:assert/strict";

/** The API reference: every operation, found by words, with a link of its own. */
export async function reference({ page, open, path, text, done }) {
  const operations = page.locator("details.operation");
  await open("/det/");
  await page.getByRole("link", { name: "API reference" }).click();
  await page.getByRole("heading", { name: "API reference", level: 1 }).waitFor();
  await operations.first().waitFor();
  assert(await operations.count() > 200, "all operations are listed");
  await done("the API reference lists every operation");

  await page.getByRole("searchbox", { name: "Search operations" }).fill("kill experiment");
  const kill = page.locator("#postExperimentsIdKill");
  await page.getByRole("status").getByText(/^\d operations?$/).waitFor();
  assert.match(path(), /search=kill/);
  await kill.locator("summary").first().click();
  assert.match(await text(kill.locator("pre")), /curl -X POST '.*\/api\/v1\/experiments\/\{id\}\/kill' \\\n {2}-H "Authorization: Bearer \$DET_TOKEN"/);
  await kill.getByRole("link", { name: "Link to this operation" }).click();
  assert.equal(new URL(page.url()).hash, "#postExperimentsIdKill");
  await done("an operation is found by its words, and has an example and an address");

  await page.getByRole("searchbox", { name: "Search operations" }).fill("zebra");
  await page.getByText("No operation matches “zebra”.").waitFor();
  await done("a search without result says so");

  await open("/det/api#getTrialsTrialId");
  const trial = page.locator("#getTrialsTrialId");
  await trial.getByText("Path parameters").waitFor();
  await trial.locator(".fields summary").first().click();
  await trial.getByText("totalBatchesProcessed").waitFor();
  await done("a link to an operation opens it, and the objects in its reply can be opened");
}
