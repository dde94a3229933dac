import assert from "node:assert/strict";

/** The list of experiments: finding, sorting, columns, and acting on many. */
export async function list({ page, open, path, text, done, expectRefusals }, { search, long, lonely }) {
  const rows = page.getByRole("table", { name: "Experiments" }).locator("tbody tr");
  const box = page.getByRole("combobox", { name: "Filter by words or an expression" });
  const find = async (words) => {
    await box.fill(words);
    await page.waitForURL((url) => (url.searchParams.get("search") ?? "") === words);
  };
  const only = (id) => rows.filter({ has: page.getByRole("link", { name: String(id), exact: true }) });
  const shows = async (count) => {
    await page.waitForFunction((n) => document.querySelectorAll("table[aria-label=Experiments] tbody tr").length === n, count);
  };

  await open("/det/experiments");
  await rows.first().waitFor();
  const all = await rows.count();
  assert(all >= 3, `${all} experiments`);

  for (const words of [`#${search.id}`, search.name, search.description, search.label]) {
    await find(words);
    await shows(1);
    await only(search.id).waitFor();
  }
  await find("determined");
  await shows(all);
  await find("no experiment is called like this");
  await page.getByText("No experiments match these filters.").waitFor();
  await find(search.name);
  await shows(1);
  await page.reload();
  await shows(1);
  assert.equal(await box.inputValue(), search.name);
  await done("experiments are found by number, name, description, label and user; the address keeps the search");

  await find("");
  const address = (name) => page.waitForFunction((key) => new URL(location.href).searchParams.get(key), name).then((found) => found.jsonValue());
  const options = page.getByRole("listbox", { name: "Completions" }).getByRole("option");
  await box.click();
  await box.pressSequentially("drop");
  await options.filter({ hasText: /^dropout$/ }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await box.inputValue(), "dropout ");
  await box.pressSequentially("> 0 and st");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator('.filter-field [aria-selected="true"]').innerText(), "state");
  await page.keyboard.press("Enter");
  await box.pressSequentially("= comp");
  await options.filter({ hasText: /^COMPLETED$/ }).click();
  await page.keyboard.press("Enter");
  assert.equal(await address("filter"), "dropout > 0 and state = COMPLETED");
  await only(search.id).waitFor();
  await only(long.id).waitFor({ state: "detached" });
  await done("an expression filters by hyperparameter and state, and is completed while one types");

  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "dropout" }).check();
  await page.getByRole("checkbox", { name: "validation_loss, min" }).check();
  await page.keyboard.press("Escape");
  await page.getByRole("columnheader", { name: "validation_loss, min" }).getByRole("button").click();
  await page.waitForURL(/sort=validation.validation_loss.min/);
  const cell = async (title) => {
    const titles = await page.locator("table[aria-label=Experiments] thead th").allInnerTexts();
    return only(search.id).locator("td").nth(titles.findIndex((text) => text.startsWith(title))).innerText();
  };
  assert(Number(await cell("validation_loss, min")) > 0);
  assert(Number(await cell("dropout")) > 0, "of the best trial");
  await done("hyperparameters and metrics are columns, and the list is sorted by them");

  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("textbox", { name: "Name of this view" }).fill("Completed by loss");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Completed by loss" }).first().waitFor();
  await page.evaluate(() => localStorage.removeItem("experiment columns"));
  await open("/det/experiments");
  await shows(all);
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("button", { name: "Completed by loss", exact: true }).click();
  assert.equal(await address("filter"), "dropout > 0 and state = COMPLETED");
  await page.getByRole("columnheader", { name: "validation_loss, min" }).waitFor();
  await done("what is shown is saved as a view, and shown again");
  await page.getByRole("button", { name: /Completed by loss/ }).click();
  await page.getByRole("button", { name: "Delete the view Completed by loss" }).click();
  expectRefusals();
  await box.fill("state = ");
  await page.keyboard.press("Enter");
  await page.getByText("filter ends where a value is expected").first().waitFor();
  await page.evaluate(() => localStorage.removeItem("experiment columns"));
  await open("/det/experiments");
  await shows(all);
  await done("what is wrong with an expression is said");
  const ids = async () => (await rows.locator("td:nth-child(2)").allInnerTexts()).map(Number);
  assert.deepEqual(await ids(), (await ids()).toSorted((a, b) => b - a), "newest first");
  await page.getByRole("button", { name: "ID" }).click();
  await page.waitForURL(/sort=id/);
  await page.waitForFunction(() => document.querySelector("table[aria-label=Experiments] tbody tr td:nth-child(2)").innerText === "1");
  assert.equal(await page.locator("th[aria-sort=ascending]").innerText(), "ID ↑");
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Description" }).check();
  await page.getByRole("columnheader", { name: "Description" }).waitFor();
  await page.getByRole("checkbox", { name: "Description" }).uncheck();
  await page.keyboard.press("Escape");
  await page.getByRole("combobox", { name: "State", exact: true }).selectOption("completed");
  await page.waitForURL(/state=completed/);
  await only(long.id).waitFor({ state: "detached" });
  await done("it is sorted by the master, filtered by state, and shows the columns that one wants");

  await open("/det/experiments");
  await shows(all);
  await page.getByRole("checkbox", { name: `Select experiment ${search.id}` }).check();
  await page.getByRole("checkbox", { name: `Select experiment ${long.id}` }).check();
  await page.getByText("2 selected").waitFor();
  await page.getByRole("group", { name: "Actions for the selected experiments" }).getByRole("button", { name: /^Pause/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("heading", { name: "Pause 1 experiment?" }).waitFor();
  assert.match(await text(dialog.getByRole("list", { name: "Experiments to pause" })), new RegExp(`${long.id}\\s+${long.name}`));
  assert.match(await text(dialog.getByRole("list", { name: "Skipped" })), new RegExp(`${search.id}.*is completed`, "s"));
  await done("an action on many says which it is for, which not, and why");
  await dialog.getByRole("button", { name: "Pause", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await only(long.id).getByText("paused").waitFor();
  await page.getByRole("checkbox", { name: `Select experiment ${long.id}` }).check();
  await page.getByRole("group").getByRole("button", { name: /^Activate/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Activate", exact: true }).click();
  await only(long.id).getByText(/running|queued|starting/).waitFor();

  await page.getByRole("button", { name: "Clear selection" }).click();
  const chosen = page.getByRole("group", { name: "Actions for the selected experiments" });
  const choose = (id) => page.getByRole("checkbox", { name: `Select experiment ${id}` }).check();
  const toBoth = async (action) => {
    for (const { id } of [search, lonely]) await choose(id);
    await chosen.getByRole("button", { name: action, exact: true }).click();
    await dialog.getByRole("button", { name: action, exact: true }).click();
    await dialog.locator(".state.good", { hasText: `${action.toLowerCase()}d` }).nth(1).waitFor();
  };
  await toBoth("Archive");
  await done("what was done with each of many is said");
  await dialog.getByRole("button", { name: "Close" }).click();
  await shows(all - 2);
  await page.getByRole("combobox", { name: "Archived", exact: true }).selectOption("yes");
  await shows(2);
  const height = (await only(lonely.id).boundingBox()).height;
  assert(height < 80, `a long name makes a row ${height} pixels high`);
  await choose(lonely.id);
  await chosen.getByText("1 selected").waitFor();
  await find(search.name);
  await chosen.waitFor({ state: "detached" });
  await find("");
  await shows(2);
  await toBoth("Unarchive");
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByText("No experiments match these filters.").waitFor();
  await page.getByRole("combobox", { name: "Archived", exact: true }).selectOption("");
  await shows(all);
  assert.equal(path(), "/det/experiments");
  await done("chosen experiments are paused, activated, archived and brought back; what a filter hides is not selected");
}
