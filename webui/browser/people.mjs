import assert from "node:assert/strict";

/** Logging in and out, users, passwords. */
export async function people({ page, open, text, done, expectRefusals }) {
  const logOut = async () => {
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Log in" }).waitFor();
  };
  const logIn = async (user, password) => {
    await page.getByLabel("User").fill(user);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Log in" }).click();
  };
  await open("/det/settings");
  await logOut();
  expectRefusals(1);
  await logIn("admin", "wrong");
  await page.getByRole("alert").waitFor();
  await done("one can log out, and a wrong password is refused");
  await logIn("admin", "");
  await page.getByRole("link", { name: "Users" }).click();
  const users = page.getByRole("table", { name: "Users" });
  await users.waitFor();
  await page.getByRole("button", { name: "New user" }).click();
  await page.getByLabel("Name", { exact: true }).fill("walker");
  await page.getByLabel("Password").fill("first steps");
  await page.getByRole("button", { name: "Create" }).click();
  await users.getByText("walker").waitFor();
  await done("an administrator creates a user");
  await users.locator("tr", { hasText: "walker" }).getByRole("button", { name: "set password" }).click();
  await page.getByLabel("New password").fill("second steps");
  await page.getByRole("dialog").getByRole("button", { name: "Set" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await logOut();
  await logIn("walker", "second steps");
  await page.getByRole("heading", { name: "Settings" }).or(page.getByText("Users are managed")).first().waitFor();
  await open("/det/users");
  await page.getByText("Users are managed by administrators.").waitFor();
  await open("/det/settings");
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("What it is for").fill("nightly job");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText("shown this once").waitFor();
  const token = await text(dialog.getByLabel("The token"));
  const status = (credentials) =>
    page.evaluate(async (bearer) => (await fetch("/api/v1/me", { credentials: "omit", headers: { Authorization: `Bearer ${bearer}` } })).status, credentials);
  assert.equal(await status(token), 200, "the token logs in");
  await done("a user makes a token for a program, shown once");
  await dialog.getByRole("button", { name: "I have it" }).click();
  const tokens = page.getByRole("table", { name: "Access tokens" });
  await tokens.getByText("nightly job").waitFor();
  await page.getByRole("button", { name: /^Revoke token/ }).click();
  await dialog.getByRole("button", { name: "revoke" }).click();
  await page.getByText("None. A program").waitFor();
  expectRefusals(1);
  assert.equal(await status(token), 401, "a revoked token logs nobody in");
  await page.getByLabel("New password").fill("a");
  await page.getByLabel("Again").fill("b");
  await page.getByRole("button", { name: "Change password" }).click();
  assert.match(await text(page.getByRole("alert")), /not the same/);
  await page.getByLabel("Again").fill("a");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("status").getByText("changed").or(page.getByRole("heading", { name: "Log in" })).first().waitFor();
  await done("a user changes her password, and manages no others");
}
