// What everyone needs of a page: names for what can be used, one title, text that can be read.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What is wrong with the page as it is now: sentences, none if all is well. Checked by axe-core and by rules of our own. */
export async function accessibilityProblems(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe); // not by a <script>, which the pages forbid
  return [...(await page.evaluate(inPage)), ...(await page.evaluate(violations))];
}

/** What WCAG 2.2, levels A and AA, forbids, as far as axe-core finds it. */
async function violations() {
  const levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const found = await window.axe.run(document, { runOnly: levels, resultTypes: ["violations"] });
  return found.violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `axe ${id}: ${help}: ${html.slice(0, 120)}`));
}

function inPage() {
  const problems = [];
  const visible = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const brief = (element) => element.outerHTML.slice(0, 120);

  if (document.documentElement.lang === "") problems.push("the page has no language");
  const titles = [...document.querySelectorAll("h1")].filter(visible);
  if (titles.length !== 1) problems.push(`the page has ${titles.length} main titles`);
  if (document.title === "") problems.push("the tab has no title");
  if (document.querySelectorAll("main").length !== 1) problems.push("the page has not one main part");

  const named = (element) => {
    const labelled = (element.getAttribute("aria-labelledby") ?? "")
      .split(" ")
      .map((id) => document.getElementById(id)?.textContent ?? "")
      .join("");
    const labels = [...(element.labels ?? [])].map((label) => label.textContent).join("");
    return [element.getAttribute("aria-label"), labelled, labels, element.textContent, element.title].some((name) => name?.trim());
  };
  for (const element of document.querySelectorAll("a[href], button, summary")) if (visible(element) && !named(element)) problems.push(`no name: ${brief(element)}`);
  for (const element of document.querySelectorAll("input, select, textarea")) {
    const text = element.getAttribute("aria-label") || [...(element.labels ?? [])].map((label) => label.textContent.trim()).join("");
    if (visible(element) && !text) problems.push(`no label: ${brief(element)}`);
  }
  for (const element of document.querySelectorAll('svg:not([aria-hidden="true"]), [role="img"]'))
    if (visible(element) && element.closest('[aria-hidden="true"]') === null && !element.getAttribute("aria-label") && !element.querySelector("title"))
      problems.push(`a picture without a name: ${brief(element)}`);
  for (const table of document.querySelectorAll("table:not(.u-legend)"))
    if (visible(table) && !table.getAttribute("aria-label")) problems.push(`a table without a name: ${brief(table)}`);
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) problems.push(`two elements are called ${id}`);

  // Contrast of text with what is behind it, as WCAG 2 computes it: 4.5, or 3 for large text.
  const channels = (colour) => {
    const numbers = (/\(([^)]*)\)/.exec(colour)?.[1] ?? "").split(/[\s,/]+/).filter(Boolean).map(Number);
    const unit = colour.startsWith("color(srgb") ? 255 : 1;
    const [r, g, b, a = 1] = colour.startsWith("color(srgb") ? numbers.filter((n) => !Number.isNaN(n)) : numbers;
    return [r * unit, g * unit, b * unit, a];
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const behind = (element) => {
    const layers = [];
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const luminance = ([r, g, b]) => {
    const [R, G, B] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * R + 0.7152 * G + 0.0722 * B;
  };
  const contrast = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const told = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.textContent.trim() === "" || element.closest("svg, :disabled, noscript, [aria-hidden=true]") || !visible(element)) continue;
    const style = getComputedStyle(element);
    const background = behind(element);
    const ratio = contrast(over(channels(style.color), background), background);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const key = `${style.color} on ${background}`;
    if (ratio < (large ? 3 : 4.5) && !told.has(key)) {
      told.add(key);
      problems.push(`contrast ${ratio.toFixed(2)} of "${node.textContent.trim().slice(0, 40)}", ${key}`);
    }
  }
  return problems;
}
