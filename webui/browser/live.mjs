import assert from "node:assert/strict";

/** What changes while one looks: a running experiment, its log, the cluster, the queue. */
export async function live({ base, page, open, text, done }, { long, waiting }) {
  await open(`/det/experiments/${long.id}`);
  await page.locator("figure.chart canvas").first().waitFor();
  const points = () => page.locator("figure.chart [role=img]").first().getAttribute("aria-label").then((label) => Number(/(\d+) points/.exec(label)[1]));
  const before = await points();
  await page.waitForFunction((n) => Number(/(\d+) points/.exec(document.querySelector("figure.chart [role=img]").getAttribute("aria-label"))[1]) > n, before);
  await done("the curves of a running experiment grow by themselves");

  await open("/det/experiments?state=paused");
  const row = page.getByRole("row").filter({ hasText: long.name });
  const turn = (verb) => page.evaluate(async ([id, what]) => fetch(`/api/v1/experiments/${id}/${what}`, { method: "POST" }).then(() => performance.now()), [long.id, verb]);
  await page.waitForTimeout(1500); // the stream is open, and the list has been still for a while
  const paused = await turn("pause");
  await row.first().waitFor({ timeout: 3000 });
  const took = (await page.evaluate(() => performance.now())) - paused;
  assert(took < 3000, `shown after ${took} ms`);
  await turn("activate");
  await row.first().waitFor({ state: "detached", timeout: 10_000 });
  await done("a list shows what the master says has changed");

  await open(`/det/trials/${long.trial}/logs`);
  await page.locator(".logs .line").first().waitFor();
  const last = await text(page.locator(".logs .line").last());
  await page.waitForFunction((line) => [...document.querySelectorAll(".logs .line")].at(-1).innerText !== line, last);
  await page.getByText("Following.").waitFor();
  const atEnd = await page.locator(".logs").evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 40);
  assert(atEnd, "it stays at the end");
  await page.locator(".logs").evaluate((box) => box.scrollTo(0, 0));
  await page.waitForTimeout(400);
  assert(await page.locator(".logs").evaluate((box) => box.scrollTop < 40), "who reads above is left in peace");
  await done("its log follows, and lets one read");

  // A browser opens six connections to one server.
  const tabs = await Promise.all(Array.from({ length: 8 }, () => page.context().newPage()));
  await Promise.all(tabs.map((tab, i) => tab.goto(`${base}/det/trials/${long.trial}${i % 2 === 0 ? "/logs" : ""}`)));
  await Promise.all(tabs.map((tab, i) => tab.locator(i % 2 === 0 ? ".logs .line" : "figure.chart canvas").first().waitFor({ timeout: 15_000 })));
  const lastLine = () => text(tabs[0].locator(".logs .line").last());
  const seen = await lastLine();
  while ((await lastLine()) === seen) await page.waitForTimeout(100);
  await page.reload();
  await page.locator(".logs .line").first().waitFor();
  await Promise.all(tabs.map((tab) => tab.close()));
  await done("nine windows follow a trial at once");

  const behind = await page.context().newPage();
  await behind.addInitScript(() => {
    let hidden = true;
    Object.defineProperty(Document.prototype, "hidden", { get: () => hidden });
    window.turn = (to) => {
      hidden = to;
      document.dispatchEvent(new Event("visibilitychange"));
    };
  });
  const asked = [];
  behind.on("request", (request) => request.url().includes("/api/") && asked.push(request.url()));
  const whole = behind.waitForResponse(/\/api\/v1\/me$/);
  await behind.goto(`${base}/det/trials/${long.trial}/logs`);
  await whole;
  await page.waitForTimeout(1500);
  assert.deepEqual(asked.map((url) => new URL(url).pathname), ["/api/v1/me"], "who is not looked at asks for nothing but who looks");
  await behind.evaluate(() => window.turn(false));
  await behind.locator(".logs .line").first().waitFor();
  await behind.evaluate(() => window.turn(true));
  await page.waitForTimeout(500);
  asked.length = 0;
  await page.waitForTimeout(1500);
  assert.deepEqual(asked, []);
  await behind.close();
  await done("a window that nobody looks at asks nothing, and shows all when it is looked at");

  await open("/det/cluster");
  await page.locator(".slot.used").first().waitFor();
  await page.getByRole("table", { name: "Tasks" }).getByRole("link", { name: new RegExp(`Experiment ${long.id}`) }).waitFor();
  const map = page.getByRole("region", { name: "Slots" });
  await map.getByRole("img", { name: /: \d+ of \d+ slots used: determined \d+/ }).first().waitFor();
  await page.getByRole("combobox", { name: "Color by" }).selectOption("job");
  await map.getByRole("listitem").filter({ hasText: long.name }).waitFor();
  await done("each slot has the colour of its user or its job");
  await page.locator(".slot.used").first().click();
  await page.waitForURL(/\/det\/trials\/\d+$/);
  await open("/det/cluster/logs");
  await page.locator("section[aria-label='Master log']").waitFor();
  await open("/det/queue");
  const job = page.getByRole("table", { name: "Jobs" }).locator("tbody tr", { hasText: long.name });
  await job.waitFor();
  assert.match(await text(job), /1 of 1/);
  await job.getByRole("button", { name: /^Why is/ }).click();
  await page.getByRole("dialog").getByText("it is not waiting", { exact: false }).or(page.getByRole("dialog").getByText("It does not wait", { exact: false })).first().waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "OK" }).click();
  const places = () => page.locator("table[aria-label=Jobs] tbody tr").allInnerTexts();
  const before2 = (rows) => rows.findIndex((row) => row.includes(waiting[1])) < rows.findIndex((row) => row.includes(waiting[0]));
  assert(!before2(await places()), "who came first is first");
  await page.getByRole("button", { name: `Move ${waiting[1]} ahead` }).click();
  while (!before2(await places())) await page.waitForTimeout(100);
  await done("the cluster shows who uses which slot, the queue who has what, in an order that can be changed");
}
