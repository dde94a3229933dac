import assert from "node:assert/strict";

/** Workspaces and projects: made, named, filled, emptied, put away. */
export async function places({ page, open, text, path, done, expectRefusals }, { search }) {
  const dialog = page.getByRole("dialog");
  const rows = (name) => page.getByRole("table", { name }).locator("tbody tr");
  const press = (name) => page.getByRole("button", { name, exact: true }).click();
  const edit = async (what, value) => {
    await page.getByRole("button", { name: `Edit ${what}` }).click();
    await page.getByRole("textbox", { name: what, exact: true }).fill(value);
    await press("Save");
    await page.getByRole("textbox", { name: what, exact: true }).waitFor({ state: "detached" });
  };
  const closed = () => dialog.waitFor({ state: "detached" });

  await open("/det/workspaces");
  await rows("Workspaces").filter({ hasText: "Uncategorized" }).waitFor();
  for (const name of ["walked place", "other place"]) {
    await open("/det/workspaces");
    await press("New workspace");
    await dialog.getByLabel("Name").fill(name);
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.waitForURL(/\/det\/workspaces\/\d+$/);
    await page.getByText("No projects yet.").waitFor();
  }
  await done("a workspace is made, and says what to do with it");
  await press("Pin");
  await press("Unpin");
  await page.getByRole("button", { name: "Pin", exact: true }).waitFor();
  await page.getByRole("navigation").getByRole("link", { name: "Workspaces" }).click();
  await page.getByRole("searchbox").fill("WALKED");
  await page.waitForURL(/search=WALKED/);
  await page.waitForFunction(() => document.querySelectorAll("table[aria-label=Workspaces] tbody tr").length === 1);
  await page.getByRole("link", { name: "walked place" }).click();
  await edit("name", "walked workspace");
  await page.getByRole("heading", { name: /walked workspace/ }).waitFor();

  await press("New project");
  await dialog.getByLabel("Name", { exact: true }).fill("nets");
  await dialog.getByLabel("Description").fill("small ones");
  await dialog.getByLabel(/^Key/).fill("uncat");
  expectRefusals(1);
  await dialog.getByRole("button", { name: "Create" }).click();
  assert.match(await text(dialog.getByRole("alert")), /UNCAT/);
  await done("a key that is taken is refused in words, and what was typed stays");
  await dialog.getByLabel(/^Key/).fill("");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/det\/projects\/\d+$/);
  const project = path();
  await page.getByText("No experiments in this project yet.").waitFor();
  await edit("name", "walked nets");
  await edit("description", "small and large ones");
  await page.getByText("small and large ones").waitFor();
  await done("a project is made and described, and says how experiments come into it");

  await open("/det/experiments");
  await page.getByRole("checkbox", { name: `Select experiment ${search.id}`, exact: true }).check();
  await page.getByRole("group").getByRole("button", { name: "move" }).click();
  await dialog.getByLabel("Workspace").selectOption("walked workspace");
  await dialog.getByLabel("Project").selectOption("walked nets");
  await done("experiments move to a project of any workspace");
  await dialog.getByRole("button", { name: "move" }).click();
  await closed();
  await open(project);
  const here = rows("Experiments");
  await here.getByRole("link", { name: String(search.id), exact: true }).waitFor();
  assert.equal(await here.count(), 1);
  await page.getByRole("combobox", { name: "State", exact: true }).selectOption("canceled");
  await page.getByText("No experiments match these filters.").waitFor();
  assert.equal(path(), `${project}?state=canceled`);
  await page.getByRole("combobox", { name: "State", exact: true }).selectOption("");
  await here.first().waitFor();
  await done("a project lists its experiments with the usual filters");

  await page.getByRole("navigation", { name: "Project sections" }).getByRole("link", { name: "notes" }).click();
  await press("New note");
  await edit("text of Note 1", "first the small nets");
  await edit("title of Note 1", "Plan");
  await page.getByRole("region", { name: "Plan" }).getByText("first the small nets").waitFor();
  await done("notes of a project are written");
  await press("Delete the note Plan");
  await page.getByText("No notes yet.").waitFor();

  const more = async (name) => {
    await page.getByRole("button", { name: "more" }).click();
    await press(name);
  };
  await more("Delete");
  assert.match(await text(dialog), /holds 1 experiment, including archived ones/);
  assert(await dialog.getByRole("button", { name: "delete" }).isDisabled());
  await page.keyboard.press("Escape");
  await closed();
  await open(`/det/experiments/${search.id}`);
  await page.getByRole("link", { name: "walked workspace / walked nets" }).waitFor();
  await more("Move");
  await dialog.getByLabel("Workspace").selectOption("Uncategorized");
  await dialog.getByLabel("Project").selectOption("Uncategorized");
  await dialog.getByRole("button", { name: "move" }).click();
  await page.getByRole("link", { name: "Uncategorized", exact: true }).waitFor();

  await open(project);
  await more("Archive");
  await page.locator("h1 + .label", { hasText: "archived" }).waitFor();
  await more("Unarchive");
  await page.locator("h1 + .label").waitFor({ state: "detached" });
  await more("Move to another workspace");
  await dialog.getByLabel("Workspace").selectOption("other place");
  await dialog.getByRole("button", { name: "move" }).click();
  await page.getByRole("heading", { name: "other place / walked nets" }).waitFor();
  await more("Delete");
  await dialog.getByRole("button", { name: "delete" }).click();
  await page.waitForURL(/\/det\/workspaces\/\d+$/);
  await page.getByText("No projects yet.").waitFor();
  await page.getByRole("navigation", { name: "Workspace sections" }).getByRole("link", { name: "members" }).click();
  await page.getByText("Roles are not enforced").waitFor();
  await done("a project moves between workspaces, and is deleted once it is empty");
  for (const name of ["other place", "walked workspace"]) {
    await open("/det/workspaces");
    await page.getByRole("link", { name }).click();
    await press("Delete");
    await dialog.getByRole("button", { name: "delete" }).click();
    await page.waitForURL(/\/det\/workspaces$/);
  }
  expectRefusals(1);
  await open("/det/workspaces/7777");
  await page.getByRole("alert").getByText("workspace 7777 not found").waitFor();
  await page.getByRole("link", { name: "All workspaces" }).click();
  await rows("Workspaces").filter({ hasText: "Uncategorized" }).waitFor();
  await done("a workspace that is not there says so, with a way on");
}
