import assert from "node:assert/strict";

/**
 * Texts that look like code, wherever people may write: pages show them as they are, and run nothing. `pages`: addresses,
 * each with a text that must be there.
 */
export async function corpus({ page, open, become, done }, { pages }) {
  const dialogs = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    dialog.dismiss();
  });
  await open("/det/");
  await page.getByRole("heading", { name: "Dashboard" }).waitFor(); // the page has logged in by itself, and does not do so after this:
  await become("admin"); // who sees every page
  for (const { path, text } of pages) {
    await open(path);
    const shown = (words) => [document.body.innerText, ...[...document.querySelectorAll("input, textarea")].map((field) => field.value)].some((all) => all.includes(words));
    await page.waitForFunction(shown, text, { timeout: 20_000 }).catch(() => assert.fail(`${path} does not show ${text}`));
    assert.equal(await page.evaluate(() => window.hacked), undefined, `${path} ran a text`);
    const links = await page.locator("a[href]").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    assert.deepEqual(links.filter((href) => /^\s*(javascript|vbscript|data:(?!application\/yaml|text\/csv))/i.test(href)), [], `${path} has a link that runs code`);
    const made = await page.evaluate(() => document.querySelectorAll("[data-corpus], #content script, #content iframe, img[src='x']").length);
    assert.equal(made, 0, `${path} made elements of a text`);
  }
  assert.deepEqual(dialogs, []);
  await done(`${pages.length} pages show texts that look like code as they are`);
}
