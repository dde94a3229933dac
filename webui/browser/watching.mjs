import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

/** What administrators look at: who used how much, and who did what. */
export async function watching({ page, open, become, text, path, done }, { search }) {
  await open("/det/cluster");
  await page.getByRole("navigation", { name: "Cluster sections" }).getByRole("link", { name: "usage" }).click();
  const rows = page.getByRole("table", { name: "Usage" }).locator("tbody tr");
  await rows.filter({ hasText: "determined" }).waitFor();
  await page.getByRole("img", { name: /^Slot-hours from \d{4}-\d\d-\d\d to/ }).waitFor();
  await done("usage is a chart and a table of users");
  await page.getByRole("combobox", { name: "Show" }).selectOption("cost");
  await page.getByRole("img", { name: /^Cost \(EUR\) from \d{4}-\d\d-\d\d to .*, at most €[\d,.]+; / }).waitFor();
  await page.waitForURL((url) => url.search === "?measure=cost");
  const [hours, cost] = (await rows.filter({ hasText: "determined" }).locator("td.number").allInnerTexts()).map((cell) => Number(cell.replace(/[€,]/g, "")));
  assert(Math.abs(cost / 3600 / hours - 1) < 0.1, `${hours} slot-hours at €3600 each are €${cost}`);
  await done("usage is told as what it cost, too");
  await page.getByRole("combobox", { name: "Show" }).selectOption("slot-hours");
  await page.getByRole("combobox", { name: "Group by" }).selectOption("label");
  await rows.filter({ hasText: search.label }).waitFor();
  await page.getByRole("combobox", { name: "Range" }).selectOption("7 days");
  await page.getByRole("combobox", { name: "Interval" }).selectOption("months");
  await page.waitForURL((url) => url.search === "?by=experiment_label&range=7&period=month");
  await page.reload();
  await rows.filter({ hasText: search.label }).waitFor();
  const saved = async (press) => {
    const [file] = await Promise.all([page.waitForEvent("download"), press()]);
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
  };
  const shown = await saved(() => page.getByRole("button", { name: "CSV", exact: true }).click());
  assert.match(shown.name, /^usage-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
  assert.match(shown.text, new RegExp(`^date,.*${search.label}.*\r\n\\d{4}-\\d\\d,`));
  const each = await saved(() => page.getByRole("link", { name: "CSV of every allocation" }).click());
  assert.match(each.text, /^allocation_id,/);
  assert.match(each.text, /\bdetermined\b/);
  await page.getByLabel("From", { exact: true }).fill("2001-01-01");
  await page.getByLabel("to", { exact: true }).fill("2001-01-05");
  await page.getByText(/No labeled experiment used slots/).waitFor();
  assert.match(path(), /from=2001-01-01&to=2001-01-05/);
  await done("the address keeps the range, two tables can be taken away, and an empty range says so");

  await open("/det/audit");
  await page.getByText("Only administrators can view the audit log.").waitFor();
  assert.equal(await page.getByRole("link", { name: "Audit log" }).count(), 0);
  await page.evaluate((id) => fetch(`/api/v1/experiments/${id}`, { method: "PATCH", headers: { "Content-Type": "application/json" }, body: '{"notes":"watched"}' }), search.id);
  await become("admin");
  await open("/det/");
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Audit log" }).click();
  const entries = page.getByRole("table", { name: "Audit log" }).locator("tbody tr");
  await entries.first().waitFor();
  assert.match(await text(entries.first()), /admin[\s\S]*auth\/login[\s\S]*done/);
  await done("an administrator sees who did what");
  await page.getByRole("searchbox").fill(`experiments/${search.id}`);
  await page.waitForURL(/search=experiments/);
  await page.waitForFunction((id) => [...document.querySelectorAll("table[aria-label='Audit log'] tbody tr")].every((row) => row.innerText.includes(`experiments/${id}`)), search.id);
  await entries.first().getByRole("button", { name: "determined" }).click();
  await page.waitForURL(/user=determined/);
  await entries.getByRole("link", { name: `experiment ${search.id}`, exact: true }).first().click();
  await page.waitForURL(new RegExp(`/det/experiments/${search.id}$`));
  await page.goBack();
  await entries.first().waitFor();
  await page.getByLabel("From", { exact: true }).fill("2099-01-01T00:00");
  await page.getByText("No entries match these filters.").waitFor();
  await done("the log is searched by words, user and time, and leads to what it is about");
  await open("/det/audit");
  await page.getByRole("checkbox", { name: /Denied/ }).check();
  await page.waitForURL(/refused=1/);
  await page.waitForFunction(() => ![...document.querySelectorAll("table[aria-label='Audit log'] tbody tr")].some((row) => row.innerText.endsWith("done")));

  // A page has 100 entries: enough calls for two pages, whatever was called before.
  await page.evaluate(async () => {
    for (let i = 0; i < 120; i += 1) await fetch("/api/v1/workspaces/1/pin", { method: "POST" });
    await fetch("/api/v1/workspaces/1/unpin", { method: "POST" });
  });
  await open("/det/audit");
  await entries.nth(99).waitFor();
  assert.equal(await entries.count(), 100);
  assert.match(await text(entries.first()), /workspaces\/1\/unpin/);
  await page.getByRole("button", { name: "Older" }).click();
  await page.getByText("page 2").waitFor();
  await page.waitForFunction(() => !document.querySelector("table[aria-label='Audit log'] tbody tr").innerText.includes("unpin"));
  await page.reload();
  await page.getByText("page 2").waitFor();
  await page.getByRole("button", { name: "Newer" }).click();
  await entries.first().getByText("workspaces/1/unpin").waitFor();
  assert.equal(path(), "/det/audit");
  await done("the log is paged, and a page is an address");
  await become("determined");
}
