import assert from "node:assert/strict";

/** Templates: written, refused, used, changed, found, deleted. */
export async function templates({ page, open, text, done, expectRefusals }) {
  const dialog = page.getByRole("dialog");
  const yaml = dialog.getByLabel("Configuration (YAML)");
  const shown = page.getByRole("region", { name: "Text" });
  const name = "walked/small job";
  await open("/det/templates");
  await page.getByText("No templates yet.").waitFor();
  await page.getByRole("button", { name: "New template" }).click();
  await dialog.getByLabel("Name").fill(name);
  await yaml.fill("resources: [1, 2");
  expectRefusals();
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByRole("alert").getByText(name).waitFor();
  await done("a template that is no YAML is refused in words, and what was typed stays");
  await yaml.fill("# one is enough\nresources:\n  slots: 0\n  priority: 7\n");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/det\/templates\/walked%2Fsmall%20job$/);
  assert.match(await text(shown), /# one is enough\nresources:\n {2}slots: 0/, "as it was written, with its comment");
  await page.getByText("--template 'walked/small job'").waitFor();
  await done("a template is written, and its page says how to use it");

  const priority = () =>
    page.evaluate(async (templateName) => {
      const body = JSON.stringify({ config: { entrypoint: ["true"] }, templateName, preview: true });
      const reply = await fetch("/api/v1/commands", { method: "POST", body, headers: { "Content-Type": "application/json" } });
      return (await reply.json()).config.resources.priority;
    }, name);
  assert.equal(await priority(), 7, "a command that names it has what it says");
  await page.getByRole("button", { name: "edit" }).click();
  assert(await dialog.getByRole("button", { name: "Save" }).isDisabled(), "nothing has changed yet");
  await yaml.fill((await yaml.inputValue()).replace("priority: 7", "priority: 9"));
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await shown.getByText("priority: 9").waitFor();
  assert.equal(await priority(), 9);
  await done("a template is changed, and counts for what is submitted next");

  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Templates" }).click();
  const row = page.getByRole("table", { name: "Templates" }).locator("tbody tr");
  assert.match(await text(row), /walked\/small job\s+Uncategorized\s+resources\.slots, resources\.priority/);
  await page.getByRole("button", { name: "New template" }).click();
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByText("Template walked/small job already exists").waitFor();
  assert(await dialog.getByRole("button", { name: "Create" }).isDisabled());
  await done("one that is there is not replaced by a new one of its name");
  await page.keyboard.press("Escape");
  await dialog.getByRole("button", { name: "Discard changes" }).click();
  await page.getByRole("searchbox").fill("other");
  await page.getByText("No templates match.").waitFor();
  await page.getByRole("searchbox").fill("SMALL");
  await row.getByRole("link", { name }).click();
  await page.getByRole("button", { name: "delete" }).click();
  await dialog.getByRole("button", { name: "delete" }).click();
  await page.getByText("No templates yet.").waitFor();
}
