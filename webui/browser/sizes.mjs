import assert from "node:assert/strict";

/** Pages of a master that has nothing, or a great deal. `pages`: addresses, each with a text that must be there. */
export async function sizes({ page, open, become, done }, { pages }) {
  await open("/det/");
  await page.getByRole("heading", { name: "Dashboard" }).waitFor(); // the page has logged in by itself, and does not do so after this:
  await become("admin"); // who sees every page
  for (const { path, text } of pages) {
    await open(path);
    const shown = (words) => document.body.innerText.includes(words);
    await page.waitForFunction(shown, text, { timeout: 20_000 }).catch(() => assert.fail(`${path} does not show ${text}`));
    await done(`${path} shows ${text}`);
  }
}

/** A list that is longer than any page: scrolled, grouped, selected from. `total`: how many there are; `group`: a label of some. */
export async function many({ page, open, done }, { total, group }) {
  const rows = page.locator("table[aria-label=Experiments] tbody tr[aria-rowindex]:not([aria-busy])");
  const box = page.locator(".table.scrolled");
  const row = (id) => rows.filter({ has: page.getByRole("link", { name: String(id), exact: true }) });
  await open("/det/experiments");
  await page.getByText(`${total.toLocaleString("en-US")} experiments`).waitFor();
  await row(total).waitFor();
  assert((await rows.count()) < 100, "only what is in view is in the page");
  await box.evaluate((element) => (element.scrollTop = element.scrollHeight));
  await row(1).waitFor();
  await page.waitForURL(/row=\d+/);
  await page.reload();
  await row(1).waitFor();
  await done("a long list is scrolled to its end, and a reload stays there");

  await box.evaluate((element) => (element.scrollTop = 0));
  await row(total).waitFor();
  const current = () => page.evaluate(() => Number(document.activeElement.closest("tr")?.querySelector("a")?.innerText));
  for (let i = 0; i < 300 && (await current()) !== total - 60; i += 1) await page.keyboard.press("j");
  assert.equal(await current(), total - 60);
  await page.keyboard.press("x");
  await page.getByText("1 selected").waitFor();
  await done("j goes through rows that come as they are needed");
  await page.getByRole("checkbox", { name: "Select all" }).click();
  await page.getByText("1000 selected").waitFor();
  await page.getByRole("button", { name: "Clear selection" }).click();

  await page.getByRole("combobox", { name: "Group by" }).selectOption("labels");
  const head = page.locator("tr.group", { hasText: group.label });
  await head.waitFor();
  assert.match(await head.innerText(), new RegExp(`${group.label} ${group.count}\\b`));
  await head.getByRole("button").click();
  await row(group.newest).waitFor();
  await page.getByText(/experiments in 13 groups/).waitFor();
  await done("a long list is grouped, and a group opened");
}
