import assert from "node:assert/strict";

/** The frame around every page: navigation, keyboard, colours, addresses that do not exist. */
export async function frame({ page, open, path, text, done, expectRefusals }) {
  await open("/");
  await page.getByRole("heading", { name: "Dashboard" }).waitFor();
  assert.equal(path(), "/det/");
  await page.getByRole("region", { name: "My experiments" }).getByRole("link").first().waitFor();
  assert.match(await page.title(), /^Dashboard · /);
  await done("the default user is logged in silently and sees the dashboard");

  for (const [link, heading, address] of [
    ["Experiments", "Experiments", "/det/experiments"],
    ["Workspaces", "Workspaces", "/det/workspaces"],
    ["Cluster", "Cluster", "/det/cluster"],
    ["Queue", "Job queue", "/det/queue"],
    ["Templates", "Templates", "/det/templates"],
    ["Webhooks", "Webhooks", "/det/webhooks"],
    ["Models", "Models", "/det/models"],
    ["Settings", "Settings", "/det/settings"],
  ]) {
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: link }).click();
    await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    assert.equal(path(), address);
    assert.equal(await text(page.locator("[aria-current=page]")), link);
  }
  assert.equal(await page.getByRole("link", { name: "Users" }).count(), 0, "users are the administrator's");
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
  await done("every page is a link, and the browser's way back works");
  await page.setViewportSize({ width: 390, height: 800 });
  const menu = page.getByRole("button", { name: "Menu" });
  const queue = page.getByRole("link", { name: "Queue", exact: true });
  assert.equal(await queue.isVisible(), false);
  await menu.click();
  assert.equal(await menu.getAttribute("aria-expanded"), "true");
  await queue.click();
  await page.getByRole("heading", { level: 1, name: "Job queue" }).waitFor();
  assert.equal(await menu.getAttribute("aria-expanded"), "false");
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
  await done("on a narrow screen the pages are behind a menu");
  await page.setViewportSize({ width: 1360, height: 850 });

  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  assert(await skip.evaluate((element) => element === document.activeElement), "Tab begins at the skip link");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "content");
  await done("the keyboard skips the navigation");

  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  await page.getByRole("button", { name: "Dark theme" }).click();
  const dark = await background();
  assert.notEqual(dark, light);
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
  assert.equal(await background(), dark, "the choice is remembered");
  await done("dark colours are chosen with a button and remembered");
  await page.getByRole("button", { name: "Light theme" }).click();
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("combobox", { name: "Theme" }).selectOption("system");
  await page.emulateMedia({ colorScheme: "dark" });
  assert.equal(await background(), dark, "the system's colours are followed");
  await page.emulateMedia({ colorScheme: "light" });
  assert.equal(await background(), light);

  await open("/det/nothing/here");
  await page.getByText("No page exists at").waitFor();
  await page.getByRole("link", { name: "Go to the dashboard" }).click();
  await page.getByRole("heading", { name: "Dashboard" }).waitFor();

  expectRefusals(4); // nobody twice, the page of a task without a log-in, and a task that is not there
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await done("who has logged out is asked who comes next");
  const logIn = async () => {
    await page.getByLabel("User").fill("determined");
    await page.getByRole("button", { name: "Log in" }).click();
  };
  await open("/proxy/no-such-task/lab?x=1");
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get("then"), "/proxy/no-such-task/lab?x=1");
  await logIn();
  await page.getByText("task 'no-such-task' not found").waitFor();
  assert.equal(path(), "/proxy/no-such-task/lab?x=1");
  await open("/det/");
  await page.getByRole("heading", { name: "Dashboard" }).waitFor();
  await done("the log-in leads back to the page of a task");
}
