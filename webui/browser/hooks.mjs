import assert from "node:assert/strict";

/** Webhooks: who may not make one is told who may; an administrator makes, tests, changes and deletes one. */
export async function hooks({ page, open, become, text, done, expectRefusals }, { receiver }) {
  await open("/det/webhooks");
  await page.getByText("No webhooks yet").waitFor();
  // The default user owns no workspace.
  await page.getByText("Only administrators and workspace owners can create webhooks.").waitFor();
  assert.equal(await page.getByRole("button", { name: "New webhook" }).count(), 0);
  await done("who may not make webhooks is told who may");

  await become("admin");
  await open("/det/webhooks");
  const dialog = page.getByRole("dialog");
  const create = dialog.getByRole("button", { name: "Create" });
  await page.getByRole("button", { name: "New webhook" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("walked hook");
  await dialog.getByText("Enter a URL that starts with").waitFor();
  await dialog.getByLabel("URL").fill("http://169.254.169.254/latest");
  await dialog.getByLabel("Experiment becomes error").uncheck();
  await dialog.getByText("Select at least one trigger").waitFor();
  assert(await create.isDisabled());
  await dialog.getByLabel("Experiment becomes completed").check();
  await dialog.getByLabel(/Only experiments whose configuration/).check();
  await dialog.getByLabel(/Script calls context.alert/).check();
  await dialog.getByLabel(/Log line matches/).fill("out of memory\nNCCL.*(");
  expectRefusals(2);
  await create.click();
  assert.match(await text(dialog.getByRole("alert")), /169\.254\.169\.254/);
  await done("an address that the master may not call is refused in words");
  await dialog.getByLabel("URL").fill(receiver);
  await create.click();
  await dialog.getByRole("alert").getByText("NCCL.*(").waitFor();
  await dialog.getByLabel(/Log line matches/).fill("out of memory\nNCCL.*error");
  await create.click();
  await dialog.waitFor({ state: "detached" });
  const row = page.getByRole("table", { name: "Webhooks" }).locator("tbody tr", { hasText: "walked hook" });
  assert.match(await text(row), /becomes completed[\s\S]*matches out of memory[\s\S]*matches NCCL\.\*error[\s\S]*raises an alert[\s\S]*experiments that name it/);
  await page.getByRole("button", { name: "Test walked hook" }).click();
  await row.getByRole("status").getByText("Delivered").waitFor();
  await done("a webhook with every kind of trigger is made, and a test arrives");
  await page.getByRole("button", { name: "Deliveries of walked hook" }).click();
  await dialog.getByText("No deliveries yet.").waitFor();
  await dialog.getByRole("button", { name: "OK" }).click();
  await dialog.waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Edit the URL of walked hook" }).click();
  await dialog.getByLabel("URL").fill("http://127.0.0.1:9/nobody");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await row.getByText("http://127.0.0.1:9/nobody").waitFor();
  expectRefusals(1);
  await page.getByRole("button", { name: "Test walked hook" }).click();
  await row.getByRole("alert").waitFor();
  await done("a test that does not arrive says why");
  await page.getByRole("button", { name: "Delete walked hook" }).click();
  await dialog.getByRole("button", { name: "delete" }).click();
  await page.getByText("No webhooks yet").waitFor();
  await become("determined");
}
