import assert from "node:assert/strict";

/** Images, histograms, text and audio of a trial, and of two beside each other. */
export async function media({ page, open, text, done }, { pictures }) {
  const [one, other] = pictures;
  const figure = (tag) => page.locator("figure.media", { hasText: tag });
  const image = (trial, step) => page.getByRole("img", { name: `digits/first of trial ${trial} at step ${step}`, exact: true });
  await open(`/det/trials/${one}/media`);
  await image(one, 5).waitFor();
  assert(await image(one, 5).evaluate((element) => element.naturalWidth === 8), "the image is decoded");
  await page.getByRole("img", { name: /^Histograms of weights of trial \d+ from step 1 to 5, values from 0 to 1$/ }).waitFor();
  await figure("notes/text_summary").getByRole("table").waitFor();
  assert.equal(await text(figure("notes/text_summary").locator("strong")), "step 5");
  await page.waitForFunction(() => document.querySelector("figure.media audio")?.duration === 1);
  const painted = await page.locator("figure.media canvas").evaluate((canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((part) => part > 0));
  assert(painted, "the histograms are drawn");
  await done("a trial's images, histograms, text and audio are shown");

  const slider = page.getByRole("slider", { name: "Step" });
  await slider.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.waitForURL(/step=3/);
  await image(one, 3).waitFor();
  await page.reload();
  await image(one, 3).waitFor();
  await page.getByRole("searchbox", { name: "Find tags" }).fill("first");
  await page.waitForURL(/media=first/);
  await page.waitForFunction(() => document.querySelectorAll("figure.media").length === 1);
  await done("a slider shows an earlier step, and the address keeps it");

  await open(`/det/compare?trials=${one},${other}&step=2`);
  for (const trial of pictures) await image(trial, 2).waitFor();
  await page.getByRole("region", { name: "Media" }).scrollIntoViewIfNeeded();
  await done("the media of several trials are side by side");
  await figure("digits/first").getByRole("link", { name: `Trial ${other}` }).click();
  await page.waitForURL(new RegExp(`/det/trials/${other}/media\\?step=2`));
  await image(other, 2).waitFor();
  await page.setViewportSize({ width: 360, height: 700 });
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  assert((await width()) <= 360, `the media of a trial are ${await width()} pixels wide on a phone of 360`);
  await done("one of them is looked at by itself, also on a phone");
  await page.setViewportSize({ width: 1360, height: 850 });
}
