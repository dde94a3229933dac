import assert from "node:assert/strict";

/** Tasks that are no trials: a command that runs, its log, its end; a TensorBoard that an experiment's page starts. */
export async function tasks({ page, open, text, path, done }, { resumed }) {
  const dialog = page.getByRole("dialog");
  await open("/det/tasks");
  await page.getByText("No tasks.").waitFor();
  const started = await page.evaluate(async () => {
    const config = { entrypoint: ["sh", "-c", "echo counted to 3; sleep 600"], description: "walked command", resources: { slots: 0 } };
    const reply = await fetch("/api/v1/commands", { method: "POST", body: JSON.stringify({ config }), headers: { "Content-Type": "application/json" } });
    return { status: reply.status, body: await reply.text() };
  });
  assert.equal(started.status, 200, started.body);
  const row = page.getByRole("table", { name: "Tasks" }).locator("tbody tr", { hasText: "walked command" });
  await row.getByText("running").waitFor();
  await done("a command is listed as it starts");
  await row.getByRole("link", { name: "walked command" }).click();
  await page.getByText("counted to 3").waitFor();
  assert.match(path(), /\/det\/tasks\/command\/[0-9a-f-]{36}$/);
  await done("its page follows what it prints");
  await open("/det/queue");
  await page.getByRole("table", { name: "Jobs" }).getByRole("link", { name: "walked command" }).click();
  await page.getByRole("button", { name: "Kill", exact: true }).click();
  await dialog.getByText("It stops immediately.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("running").first().waitFor();
  await page.getByRole("button", { name: "Kill", exact: true }).click();
  await dialog.getByRole("button", { name: "Kill", exact: true }).click();
  await page.getByText(/killed by user/).first().waitFor();
  await done("it is found in the queue, and killed on its page, where one is asked first");
  await open("/det/tasks");
  await page.getByText("No tasks.").waitFor();
  await page.getByLabel("State").selectOption("yes");
  assert.match(await text(row), /killed by user/);

  await open(`/det/experiments/${resumed.id}`);
  await page.getByRole("button", { name: "TensorBoard" }).click();
  await page.waitForURL(/\/det\/tasks\/tensorboard\//);
  await page.getByRole("link", { name: `experiment ${resumed.id}` }).waitFor();
  await page.getByRole("button", { name: "Kill", exact: true }).click();
  await dialog.getByRole("button", { name: "Kill", exact: true }).click();
  await page.getByText(/killed by user/).first().waitFor();
  await done("a TensorBoard is started on the page of an experiment, and killed on its own");
}
