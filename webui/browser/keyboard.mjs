import assert from "node:assert/strict";

/** Everything that keys do on every page: commands, rows, searching, and switching single keys off. */
export async function keyboard({ page, open, path, done }, { search, long }) {
  const box = page.getByRole("dialog", { name: "Commands" });
  const field = page.getByRole("combobox", { name: "Page, experiment, trial or command" });
  const chosen = box.locator("[role=option][aria-selected=true]");
  const rows = page.getByRole("table", { name: "Experiments" }).locator("tbody tr");
  const focusedRow = () => page.evaluate(() => [...document.querySelectorAll("tbody tr")].indexOf(document.activeElement.closest("tr")));

  await open("/det/");
  await page.getByRole("heading", { name: "Dashboard" }).waitFor();
  await page.keyboard.press("Control+k");
  await field.waitFor();
  await done("Ctrl K opens the commands");

  await page.keyboard.type("queue");
  assert.match(await chosen.innerText(), /^Queue\s+Page/);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Job queue" }).waitFor();
  await box.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Commands" }).click();
  await page.keyboard.type(long.name);
  await box.getByRole("option", { name: `${long.id} ${long.name}` }).click();
  await page.getByRole("heading", { level: 1, name: long.name }).waitFor();
  assert.equal(path(), `/det/experiments/${long.id}`);
  await page.keyboard.press("Control+k");
  await page.keyboard.type(`#${search.best}`);
  await box.getByRole("option", { name: `Trial ${search.best}` }).waitFor();
  await box.getByRole("option").nth(1).waitFor();
  await page.keyboard.press("ArrowUp"); // from the first to the last
  assert.match(await chosen.innerText(), /Experiment$/);
  await page.keyboard.press("ArrowDown");
  assert.match(await chosen.innerText(), /^Trial/);
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/det/trials/${search.best}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("nothing is called like this");
  await box.getByText("Nothing has this name.").waitFor();
  await page.keyboard.press("Escape");
  await box.waitFor({ state: "detached" });
  await done("pages, experiments and trials are reached by what is typed");

  await open("/det/experiments");
  await rows.first().waitFor();
  await page.keyboard.press("j");
  assert.equal(await focusedRow(), 0);
  await page.keyboard.press("j");
  assert.equal(await focusedRow(), 1);
  await page.keyboard.press("x");
  await page.getByText("1 selected").waitFor();
  await done("j goes through the rows, and x selects one");

  await page.keyboard.press("x");
  await page.getByText("1 selected").waitFor({ state: "detached" });
  await page.keyboard.press("k");
  assert.equal(await focusedRow(), 0);
  await page.keyboard.press("k");
  assert.equal(await focusedRow(), 0, "there is none before the first");
  await page.keyboard.press("/");
  await page.keyboard.type(`${search.name} jk?`);
  assert.equal(await page.getByRole("combobox", { name: "Filter by words or an expression" }).inputValue(), `${search.name} jk?`, "keys are text where one types");
  await page.getByRole("combobox", { name: "Filter by words or an expression" }).fill(search.name);
  await page.waitForFunction(() => document.querySelectorAll("table[aria-label=Experiments] tbody tr").length === 1);
  await page.getByRole("combobox", { name: "Filter by words or an expression" }).blur();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: search.name }).waitFor();
  await done("/ searches, and Enter opens the row");

  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard" });
  await help.getByText("Go to the next or the previous row").waitFor();
  await done("? shows the keys");

  await help.getByRole("checkbox", { name: "Keys without Ctrl or ⌘" }).uncheck();
  await help.getByRole("button", { name: "OK" }).click();
  await page.reload();
  await page.getByRole("heading", { level: 1, name: search.name }).waitFor();
  await page.keyboard.press("?");
  await page.keyboard.press("Control+k");
  await field.fill("shortcuts");
  assert.equal(await help.count(), 0);
  await page.keyboard.press("Enter");
  await help.getByRole("checkbox", { name: "Keys without Ctrl or ⌘" }).check();
  await page.keyboard.press("Escape");
  const discard = page.getByRole("button", { name: "Discard changes" });
  if (await discard.isVisible()) await discard.click();
  await help.waitFor({ state: "detached" });
  await done("keys without Ctrl can be switched off, and on again");
}
