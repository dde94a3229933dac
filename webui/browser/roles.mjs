import assert from "node:assert/strict";

/**
 * On a master that enforces roles: an administrator gives them on a workspace's page, and each user is offered what
 * hers allow. `users`: names of three with the password "pw"; `mine`, `theirs`: workspaces by name and id.
 */
export async function roles({ page, open, become, text, done, expectRefusals }, { users, mine, theirs, project }) {
  const [editor, viewer, nobody] = users;
  const dialog = page.getByRole("dialog");
  const members = page.getByRole("table", { name: "Members" });
  const button = (name) => page.getByRole("button", { name, exact: true });

  await become("admin");
  await open(`/det/workspaces/${mine.id}/members`);
  await page.getByText("No members yet. Assign a role to add a member.").waitFor();
  assert.equal(await page.getByText("Roles are not enforced").count(), 0);
  for (const [user, role] of [[editor, "Editor"], [viewer, "Viewer"], [viewer, "ModelRegistryViewer"]]) {
    await button("Assign role").click();
    await dialog.getByRole("combobox", { name: "User or group", exact: true }).selectOption(user);
    assert.equal(await dialog.getByRole("option", { name: "ClusterAdmin" }).count(), 0, "not a role of workspaces");
    await dialog.getByRole("combobox", { name: "Role", exact: true }).selectOption(role);
    await dialog.getByText(`${role}: `).waitFor();
    await dialog.getByRole("button", { name: "Assign" }).click();
    await dialog.waitFor({ state: "detached" });
  }
  await members.locator("tbody tr", { hasText: viewer }).getByText("ModelRegistryViewer").waitFor();
  await done("an administrator assigns roles in a workspace");
  await button(`Remove role ModelRegistryViewer from ${viewer}`).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await members.getByText("ModelRegistryViewer").waitFor({ state: "detached" });
  assert.match(await text(members.locator("tbody tr", { hasText: viewer })), /Viewer/);

  await open("/det/users");
  await button(`Roles of ${editor}`).click();
  await dialog.getByRole("listitem").getByText(`in ${mine.name}`).waitFor();
  await dialog.getByRole("button", { name: "Assign role" }).click();
  await dialog.last().getByRole("combobox", { name: "Where", exact: true }).selectOption("the whole cluster");
  await dialog.last().getByRole("combobox", { name: "Role", exact: true }).selectOption("TokenCreator");
  await done("a user's roles everywhere are on the page of users");
  await dialog.last().getByRole("button", { name: "Assign" }).click();
  await dialog.first().getByText("TokenCreator for the whole cluster").waitFor();
  await dialog.getByRole("button", { name: "OK", exact: true }).click();

  await become(editor, "pw");
  await open("/det/workspaces");
  const places = page.getByRole("table", { name: "Workspaces" }).locator("tbody tr");
  await places.getByText(mine.name).waitFor();
  assert.equal(await places.count(), 1, "only hers");
  assert.equal(await button("New workspace").count(), 0);
  for (const page_ of ["Users", "Audit log"]) assert.equal(await page.getByRole("link", { name: page_ }).count(), 0);
  await page.getByRole("link", { name: mine.name }).click();
  await button("New project").waitFor();
  assert.equal(await button("Delete").count(), 0, "an editor does not delete the workspace");
  await page.getByRole("link", { name: project.name }).click();
  await page.getByRole("button", { name: "Edit name" }).waitFor({ state: "attached" });
  await done("an editor is offered projects, but not the workspace itself");

  await open("/det/tasks");
  await button("New shell").click();
  await dialog.getByRole("combobox", { name: "Resource pool" }).waitFor();
  assert.deepEqual(await dialog.getByRole("combobox", { name: "Workspace" }).getByRole("option").allInnerTexts(), [mine.name]);
  await done("a task is started in a workspace in which she may");
  await dialog.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/\/det\/tasks\/shell\//);
  await button("Kill").click();
  await dialog.getByRole("button", { name: "kill" }).click();
  await page.getByText(/killed by user/).first().waitFor();
  const made = await page.evaluate(async ({ workspace, project }) => {
    const config = JSON.stringify({ name: "offered", workspace, project, searcher: { name: "single", metric: "loss", max_length: { batches: 1 } } });
    const reply = await fetch("/api/v1/experiments/by-external-id/offered", { method: "PUT", body: JSON.stringify({ config, unmanaged: true }), headers: { "Content-Type": "application/json" } });
    return reply.text();
  }, { workspace: mine.name, project: project.name });
  const experiment = `/det/experiments/${JSON.parse(made).experiment?.id ?? made}`;
  await open(experiment);
  for (const name of ["fork", "TensorBoard", "more"]) await page.getByRole("button", { name }).waitFor();
  await done("an editor is offered what can be done with an experiment");

  await open(`/det/workspaces/${mine.id}/members`);
  await page.getByText("you need the role WorkspaceAdmin").waitFor();
  assert.equal(await members.getByRole("button", { name: /^Remove role/ }).count(), 0);
  await page.getByRole("link", { name: "policies" }).click();
  await page.getByText("No policy is set").first().waitFor();
  assert.equal(await page.getByRole("button", { name: /policy/ }).count(), 0, "a WorkspaceAdmin's");
  await open("/det/cluster/policies");
  await page.getByText("Only administrators can change these policies.").waitFor();
  for (const [tab, sentence] of [["groups", "Only administrators can manage groups."], ["tokens", "Only administrators can manage access tokens"]]) {
    await open(`/det/users/${tab}`);
    await page.getByText(sentence).waitFor();
  }
  await open("/det/audit");
  await page.getByText("Only administrators can view the audit log.").waitFor();
  await open("/det/cluster/usage");
  await page.getByText("Usage is visible to users with the role ClusterAdmin.").waitFor();
  expectRefusals(); // the workspace
  await open(`/det/workspaces/${theirs.id}`);
  await page.getByRole("alert").getByText("not found").waitFor();
  await done("what she may not see is as if it were not there, and what she may not do says who may");

  await become(viewer, "pw");
  await open(`/det/projects/${project.id}`);
  await page.getByRole("link", { name: "offered" }).waitFor();
  for (const name of ["more", "Edit name"]) assert.equal(await page.getByRole("button", { name }).count(), 0, `${name} for a viewer`);
  await open(experiment);
  await page.getByRole("heading", { name: "offered" }).waitFor();
  for (const name of ["fork", "TensorBoard", "more", "Edit name", "Change log retention"]) assert.equal(await page.getByRole("button", { name }).count(), 0, `${name} for a viewer`);
  await done("a viewer sees an experiment and changes nothing");
  await open("/det/tasks");
  await page.getByText("No tasks.").waitFor();
  assert.equal(await button("New shell").count(), 0);
  await open(`/det/workspaces/${mine.id}`);
  await page.getByRole("link", { name: project.name }).waitFor();
  assert.equal(await button("New project").count(), 0);
  await open("/det/templates");
  await page.getByText("No templates yet.").waitFor();
  assert.equal(await button("New template").count(), 0);
  await done("a viewer looks and is offered nothing else");

  await become(nobody, "pw");
  await open("/det/workspaces");
  await page.getByText("You have no role in any workspace.").waitFor();
  await done("who has no role is told how to get one");
}
