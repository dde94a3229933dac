import assert from "node:assert/strict";

/** The model registry: a model, a version from a checkpoint, its way out. */
export async function registry({ page, open, text, done }, { resumed }) {
  await open("/det/models");
  await page.getByRole("button", { name: "New model" }).click();
  await page.getByLabel("Name", { exact: true }).last().fill("walked/model 1");
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/det\/models\/walked%2Fmodel%201$/);
  await page.getByText("No versions yet.").waitFor();
  await open(`/det/trials/${resumed.trial}/checkpoints`);
  await page.getByRole("table", { name: "Checkpoints" }).locator("tbody tr", { hasText: "completed" }).getByRole("button").first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Register as a version of model").selectOption("walked/model 1");
  await dialog.getByRole("button", { name: "Register" }).click();
  await dialog.waitFor({ state: "detached" });
  await open("/det/models");
  await page.getByRole("link", { name: "walked/model 1" }).click();
  const versions = page.getByRole("table", { name: "Versions" });
  assert.match(await text(versions.locator("tbody tr")), new RegExp(`\\b${resumed.trial}\\b`));
  await done("a model is created, and a checkpoint registered as its first version");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("No models yet.").waitFor();
}
