import assert from "node:assert/strict";

/** Configuration policies: everybody reads them, administrators and owners of workspaces change them. */
export async function policies({ page, open, become, text, done, expectRefusals }) {
  const dialog = page.getByRole("dialog");
  const experiments = page.getByRole("region", { name: "Experiments", exact: true });
  const yaml = dialog.getByRole("textbox", { name: "Configuration (YAML)" });
  const button = (name) => page.getByRole("button", { name, exact: true });

  await open("/det/cluster/policies");
  await experiments.getByText("No policy is set in the cluster.").waitFor();
  await page.getByText("Only administrators can change these policies.").waitFor();
  assert.equal(await page.getByRole("button", { name: /policy/ }).count(), 0);
  await done("who may not change policies reads them and is told who may");

  await become("admin");
  await open("/det/cluster/policies");
  await button(/^(Set|Edit) policy: Experiments in the cluster$/).click();
  await yaml.fill("# nobody is more urgent\nconstraints:\n  priority: 30\n");
  expectRefusals(1);
  await dialog.getByRole("button", { name: "Save" }).click();
  assert.match(await text(dialog.getByRole("alert")), /\(line 3\).*did you mean "priority_limit"\?/);
  await done("a policy that is wrong is refused with the line, and stays to be corrected");
  await yaml.fill("# nobody is more urgent\nconstraints:\n  priority_limit: 30\n");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await experiments.getByText("# nobody is more urgent").waitFor();
  await done("a policy of the cluster is set, with its comment");

  await become("determined");
  await open("/det/cluster/policies");
  await experiments.getByText("priority_limit: 30").waitFor();
  await open("/det/workspaces");
  await page.getByRole("button", { name: "New workspace" }).click();
  await dialog.getByLabel("Name").fill("strict place");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/det\/workspaces\/\d+$/);
  await page.getByRole("link", { name: "policies" }).click();
  await page.getByText("No policy is set in workspace strict place.").first().waitFor();
  await button(/^(Set|Edit) policy: Experiments in workspace strict place$/).click();
  assert.match(await yaml.inputValue(), /invariant_config/, "an example to begin with");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await experiments.getByText("max_restarts: 2").waitFor();
  await done("the owner of a workspace sets its policy");
  await button("Delete policy: Experiments in workspace strict place").click();
  await dialog.getByRole("button", { name: "delete" }).click();
  await experiments.getByText("No policy is set").waitFor();

  await become("admin");
  await open("/det/cluster/policies");
  await button("Delete policy: Experiments in the cluster").click();
  await dialog.getByRole("button", { name: "delete" }).click();
  await experiments.getByText("No policy is set").waitFor();
  await become("determined");
}
