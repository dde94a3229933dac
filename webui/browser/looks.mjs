import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

/** Of the pixels, so many may differ: the edges of letters and lines. */
const tolerance = 0.002;

/**
 * The design system in both themes, wide and on a phone, as it looked when somebody looked at it: DET_LOOKS=write takes
 * new pictures. Those that are not as before are kept beside the others, with what differs.
 */
export async function looks({ page, open, done }, _facts, pictures) {
  if (!execFileSync("fc-match", ["sans-serif"]).includes("DejaVuSans.ttf")) {
    console.log("skipped: the pictures have the letters of DejaVu Sans, and this machine has others");
    return;
  }
  const before = page.viewportSize();
  for (const theme of ["light", "dark"])
    for (const [size, width] of [["wide", 1200], ["phone", 360]]) {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 800 });
      await open("/det/design");
      await page.getByRole("cell", { name: "0.1", exact: true }).waitFor();
      await page.waitForFunction(() => document.querySelectorAll("figure.chart canvas").length === 2);
      await page.evaluate(() => document.fonts.ready);
      const main = page.getByRole("main");
      const picture = await main.screenshot({ animations: "disabled", caret: "hide" });
      const name = new URL(`looks/${theme}-${size}.png`, import.meta.url);
      if (process.env.DET_LOOKS === "write") writeFileSync(name, picture);
      assert(existsSync(name), `there is no picture looks/${theme}-${size}.png; DET_LOOKS=write takes it`);
      compare(PNG.sync.read(readFileSync(name)), PNG.sync.read(picture), `${theme}-${size}`, pictures);
      await done(`the design system looks as it did, ${theme}, ${size}`);
    }
  await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: "light" });
}

function compare(known, taken, name, pictures) {
  const keep = (what, png) => pictures && writeFileSync(`${pictures}/${name}-${what}.png`, PNG.sync.write(png));
  if (known.width !== taken.width || known.height !== taken.height) {
    keep("taken", taken);
    assert.fail(`${name}: the page has ${taken.width}×${taken.height} pixels, and had ${known.width}×${known.height}`);
  }
  const difference = new PNG({ width: known.width, height: known.height });
  const count = pixelmatch(known.data, taken.data, difference.data, known.width, known.height, { threshold: 0.2 });
  if (count <= tolerance * known.width * known.height) return;
  keep("taken", taken);
  keep("difference", difference);
  assert.fail(`${name}: ${count} pixels differ, of ${known.width * known.height}`);
}
