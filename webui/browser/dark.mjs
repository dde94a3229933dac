import assert from "node:assert/strict";

/** Every page once more in dark colours, and on a narrow screen, where nothing may stick out. */
export async function dark({ page, open, done }, { search, resumed }) {
  const pages = [
    "/det/",
    "/det/experiments",
    `/det/experiments/${search.id}`,
    `/det/experiments/${search.id}/search`,
    `/det/experiments/${search.id}/trials`,
    `/det/experiments/${search.id}/code`,
    `/det/trials/${resumed.trial}`,
    `/det/trials/${resumed.trial}/workloads`,
    `/det/trials/${resumed.trial}/logs`,
    `/det/compare?trials=${resumed.trial},${search.best}`,
    "/det/workspaces",
    "/det/workspaces/1",
    "/det/workspaces/1/members",
    "/det/projects/1",
    "/det/projects/1/notes",
    "/det/cluster",
    "/det/cluster/usage",
    "/det/queue",
    "/det/models",
    "/det/templates",
    "/det/webhooks",
    "/det/settings",
    "/det/api?search=trial",
  ];
  const settled = async () => {
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForFunction(() => ![...document.querySelectorAll("[role=status]")].some((e) => e.innerText.startsWith("Loading")));
  };
  await page.emulateMedia({ colorScheme: "dark" });
  for (const address of pages) {
    await open(address);
    await settled();
    await done(`${address} in dark colours`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 480, height: 800 });
  for (const address of pages) {
    await open(address);
    await settled();
    const out = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert(out <= 0, `${address} sticks out by ${out} pixels on a narrow screen`);
  }
  await done("no page sticks out on a narrow screen");
  await page.setViewportSize({ width: 1360, height: 850 });
}
