import assert from "node:assert/strict";

/** Groups of users, and the access tokens of all: an administrator manages them, others are told who does. */
export async function groups({ page, open, become, done }) {
  const dialog = page.getByRole("dialog");
  const list = page.getByRole("table", { name: "Groups" });
  const button = (name) => page.getByRole("button", { name, exact: true });
  const closed = () => dialog.waitFor({ state: "detached" });

  await open("/det/users/groups");
  await page.getByText("Only administrators can manage groups.").waitFor();
  await open("/det/users/tokens");
  await page.getByText("Only administrators can manage access tokens of other users.").waitFor();
  const made = await page.evaluate(async () => {
    const headers = { "Content-Type": "application/json" };
    const reply = await fetch("/api/v1/tokens", { method: "POST", headers, body: JSON.stringify({ lifespan: "48h", description: "walked job" }) });
    return reply.status;
  });
  assert.equal(made, 200);
  await done("groups and tokens of others are for administrators");

  await become("admin");
  await open("/det/users/groups");
  await page.getByText("No groups yet.").waitFor();
  await button("New group").click();
  await dialog.getByLabel("Name").fill("walkers");
  await dialog.getByRole("button", { name: "Create" }).click();
  await closed();
  await button("Members of walkers").click();
  await dialog.getByText("No members.").waitFor();
  for (const user of ["admin", "determined"]) {
    await dialog.getByRole("combobox", { name: "Add a user" }).selectOption(user);
    await dialog.getByRole("button", { name: `Remove ${user} from walkers` }).waitFor();
  }
  await done("users are put into a group");
  await dialog.getByRole("button", { name: "Remove admin from walkers" }).click();
  await dialog.getByRole("button", { name: "Remove admin from walkers" }).waitFor({ state: "detached" });
  await dialog.getByRole("button", { name: "OK" }).click();
  await closed();
  await list.getByRole("cell", { name: "1", exact: true }).waitFor();

  await button("Roles of walkers").click();
  await dialog.getByText("walkers has no roles.").waitFor();
  await dialog.getByRole("button", { name: "Assign role" }).click();
  await dialog.last().getByRole("combobox", { name: "Role", exact: true }).selectOption("Viewer");
  await dialog.last().getByRole("button", { name: "Assign" }).click();
  await dialog.getByText("Viewer for the whole cluster").waitFor();
  await done("a group gets a role");
  await dialog.getByRole("button", { name: "Remove role Viewer for the whole cluster from walkers" }).click();
  await dialog.last().getByRole("button", { name: "Remove" }).click();
  await dialog.getByText("walkers has no roles.").waitFor();
  await dialog.getByRole("button", { name: "OK" }).click();
  await closed();
  await button("Rename walkers").click();
  await dialog.getByLabel("Name").fill("hikers");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await closed();
  await button("Delete hikers").click();
  await dialog.getByRole("button", { name: "delete" }).click();
  await page.getByText("No groups yet.").waitFor();

  await page.getByRole("link", { name: "access tokens" }).click();
  const token = page.getByRole("table", { name: "Access tokens" }).locator("tbody tr", { hasText: "walked job" });
  await token.getByText("determined").waitFor();
  await done("an administrator sees the tokens of all");
  await token.getByRole("button", { name: /^Revoke token/ }).click();
  await dialog.getByRole("button", { name: "revoke" }).click();
  await token.waitFor({ state: "detached" });
  await page.getByRole("combobox", { name: "Show revoked and expired" }).selectOption("yes");
  await token.getByText("revoked").waitFor();
  await done("a token of another is revoked");
  await become("determined");
}
