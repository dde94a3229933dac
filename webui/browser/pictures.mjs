// Makes the pictures of docs/images, of an experiment that is a search and has ended:
//
//   cd examples/mnist_pytorch && det experiment create adaptive.yaml . --config batches_per_step=20 --config searcher.max_steps=8
//   node webui/browser/pictures.mjs http://127.0.0.1:8080 1 docs/images
//
// Look at them before they are committed. A palette makes a third of them: .venv/bin/python -c 'import sys; from PIL import Image;
// [Image.open(f).convert("RGB").quantize(method=2).save(f, optimize=True) for f in sys.argv[1:]]' docs/images/*.png

import assert from "node:assert/strict";
import { isDrawn } from "./experiment.mjs";
import { start } from "./harness.mjs";

const [base, id, directory] = process.argv.slice(2);
assert(directory, "usage: pictures.mjs <URL of the master> <id of the experiment> <directory>");

const { page, open, problems, end } = await start(base);
const picture = async (name) => {
  await page.mouse.move(0, 0);
  await page.screenshot({ path: `${directory}/${name}.png` });
};
try {
  await open(`/det/experiments/${id}`);
  await isDrawn(page, page.locator("figure.chart").first());
  await picture("webui");
  await open(`/det/experiments/${id}/search`);
  await page.locator("svg.parallel path.hit").first().waitFor();
  await isDrawn(page, page.getByRole("region", { name: "Learning curves" }).locator("figure.chart"));
  await picture("webui-search");
  assert.deepEqual(problems, [], "the browser complained");
} finally {
  await end();
}
