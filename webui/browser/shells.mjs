import assert from "node:assert/strict";

/** A shell in the browser: started, typed into, resized, interrupted, ended, opened again, left, killed. */
export async function shells({ page, open, path, done }) {
  const screen = async () => (await page.locator(".xterm-rows").innerText()).replaceAll("\u00a0", " ");
  /** The screen once it fits; what is not typed but computed tells an answer from its question. */
  const shows = async (pattern, seconds = 15) => {
    const limit = Date.now() + seconds * 1000;
    for (let seen = await screen(); !pattern.test(seen); seen = await screen()) {
      assert(Date.now() < limit, `after ${seconds} s the terminal does not show ${pattern} but\n${seen.trim()}`);
      await page.waitForTimeout(50);
    }
  };
  const type = (line) => page.keyboard.type(`${line}\n`);
  const rows = () => page.locator(".xterm-rows > div").count();

  await open("/det/tasks");
  await page.getByRole("button", { name: "New shell" }).click();
  await page.getByLabel("Description").fill("walked shell");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/\/det\/tasks\/shell\//);
  const task = path();
  const link = page.getByRole("link", { name: "Open walked shell" });
  await link.waitFor({ timeout: 60_000 });
  assert.equal(await link.getAttribute("target"), "_blank", "the page one comes from stays");
  assert.equal(await link.getAttribute("href"), `${task}/terminal`);
  await done("a shell is started in the browser");

  await open(`${task}/terminal`);
  await page.locator(".xterm-rows").waitFor();
  await type("echo a $DET_TASK_TYPE in $TERM; stty size");
  await shows(/a SHELL in xterm-256color/);
  await shows(new RegExp(`^${await rows()} \\d+`, "m"));
  const before = await rows();
  await page.setViewportSize({ width: 1100, height: 600 });
  await page.waitForFunction((was) => document.querySelectorAll(".xterm-rows > div").length < was, before);
  await type("clear; stty size");
  await shows(new RegExp(`^${await rows()} \\d+`, "m"));
  await page.setViewportSize({ width: 1360, height: 850 });
  await type(String.raw`clear; printf '\033[38;2;210;40;40m%s\033[0m \033[1;32m%s\033[0m %s\n' re""d gre""en 'caf'$'\xc3\xa9'`);
  await shows(/^red green café/m);
  const colour = (text) => page.locator(".xterm-rows span", { hasText: text }).last().evaluate((span) => getComputedStyle(span).color);
  assert.match(await colour("red"), /^rgb\((1[5-9]|2[01])\d, \d\d, \d\d\)$/, "24 bits of colour");
  assert.notEqual(await colour("green"), await colour("café"), "the sixteen colours");
  await done("a terminal is typed into; it has its size, its colours and characters");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator(".xterm-rows span", { hasText: "green" }).last().dblclick({ force: true });
  await page.keyboard.press("Control+Shift+C");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "green");
  await type("clear");
  await page.keyboard.type("echo pasted ");
  await page.keyboard.press("Control+Shift+V");
  await page.keyboard.press("Enter");
  await shows(/^pasted green/m);
  await done("what is chosen is copied and pasted");
  await page.emulateMedia({ colorScheme: "dark" });
  await done("it follows the page into the dark");
  await page.emulateMedia({ colorScheme: "light" });

  await type("clear; yes");
  await shows(/^y\ny\n/m);
  await page.waitForTimeout(1000);
  await page.keyboard.press("Control+c");
  await type("clear; echo still $((6 * 7))");
  await shows(/^still 42/m, 30);
  await type("clear; echo rea''dy; cat > pasted");
  await shows(/^ready/m);
  await page.evaluate(() => {
    const pasted = new DataTransfer();
    pasted.setData("text/plain", "line of what is pasted\n".repeat(10_000));
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: pasted, bubbles: true }));
  });
  await page.keyboard.press("Control+d");
  await type("clear; wc -l pasted");
  await shows(/^10000 pasted/m, 30);
  await done("Ctrl-C ends what prints without end, and what is pasted arrives whole");
  await page.keyboard.press("Tab");
  assert(await page.locator(".xterm").evaluate((box) => box.contains(document.activeElement)), "Tab is the shell's");
  await page.keyboard.press("Shift+Escape");
  assert(!(await page.locator(".xterm").evaluate((box) => box.contains(document.activeElement))), "the keyboard can leave");

  await page.locator(".xterm").click();
  await page.keyboard.press("Control+u");
  await type("exit 3");
  await page.getByText("The shell ended with status 3.").waitFor();
  await done("the end of a shell is told");
  await page.getByRole("button", { name: "Open another" }).click();
  await page.getByText("The shell ended").waitFor({ state: "detached" });
  await type(`sh -c 'trap "touch hung-up; exit" HUP; echo wa""iting; while :; do sleep 0.1; done'`);
  await shows(/^waiting/m);
  await open("/det/tasks");
  await page.getByRole("table", { name: "Tasks" }).locator("tbody tr", { hasText: "walked shell" }).getByText("running").waitFor();
  await open(`${task}/terminal`);
  await page.locator(".xterm-rows").waitFor();
  await type("until test -e hung-up; do sleep 0.1; done; echo it was hung u''p");
  await shows(/^it was hung up/m);
  await done("who leaves the page hangs up, and the task goes on");

  const id = task.split("/").pop();
  await page.evaluate((shell) => fetch(`/api/v1/shells/${shell}/kill`, { method: "POST", body: "{}" }), id);
  await page.getByText(/The shell has ended: .*killed/).waitFor();
  await shows(/^it was hung up/m);
  await done("what was on the screen stays when the task is killed");
}
