import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";

/**
 * On a master without experiments: the page shows commands, which are run as somebody would who copies them; the page
 * then lists what they train. `directory`: where the commands run; `path`: $PATH with `det`.
 */
export async function first({ page, open, done }, { directory, path }) {
  const rows = page.getByRole("table", { name: "Experiments" }).locator("tbody tr");

  await open("/det/experiments");
  const commands = page.locator(".steps code");
  await commands.first().waitFor();
  await page.getByRole("button", { name: "Copy" }).first().waitFor();
  await done("a list without experiments shows how to train a first model");

  await open("/det/");
  await commands.first().waitFor();
  const script = (await commands.allInnerTexts()).join("\n");
  assert.match(script, /det experiment create/);
  execFileSync("bash", ["-euc", script], { cwd: directory, env: { PATH: path, HOME: directory }, timeout: 120_000 });
  await open("/det/experiments");
  await rows.nth(1).waitFor();
  assert.equal(await rows.count(), 2);
  await rows.nth(1).getByText("COMPLETED").waitFor();
  await done("the commands of the page train a model and start a search, which the list shows");
}
