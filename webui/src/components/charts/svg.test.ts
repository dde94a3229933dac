import { expect, test } from "vitest";
import { grouped } from "./bands";
import { chart, overLogX } from "./curves";
import { svgOf, ticks } from "./svg";

test.each([
  [0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [13, 97, 4, [50]],
  [-3, 3, 6, [-3, -2, -1, 0, 1, 2, 3]],
  [2, 2, 5, [2]],
])("round numbers from %d to %d", (low, high, count, expected) => {
  expect(ticks(low, high, count)).toEqual(expected);
});

const point = (trialId: number, x: number, value: number) => ({ trialId, group: "training", name: "a<b", x, value });
const options = { log: false, colourOf: () => "#123456", xText: String, xLabel: "batches" };

test("a picture has a line for each curve, an area for each band, and texts that stay texts", () => {
  const made = chart("a<b", [point(1, 0, 1), point(1, 10, 2), point(2, 0, 3), point(2, 10, 4)]);
  const plain = svgOf(made, options);
  expect(plain).toContain("a&lt;b");
  expect(plain.match(/stroke-width="1.6"/g)).toHaveLength(2);
  expect(plain).not.toContain("fill-opacity");
  const bands = svgOf(grouped(made, "seed", () => "any", "min–max"), options);
  expect(bands.match(/stroke-width="1.6"/g)).toHaveLength(1);
  expect(bands.match(/fill-opacity/g)).toHaveLength(1);
});

test("values that a log scale cannot show, and those outside the range, are not drawn", () => {
  const made = chart("loss", [point(1, 0, 0), point(1, 1, 10), point(1, 2, 100), point(1, 3, 1000)]);
  const text = svgOf(made, { ...options, log: true, range: { from: 0, to: 2 } });
  expect(/d="(M[^"]*)" fill="none"/.exec(text)?.[1]).toBe("M424.0 376.0L784.0 34.0");
});

test("on a logarithmic x axis equal factors are equally far apart, and what is not above 0 is left out", () => {
  const made = overLogX(chart("loss", [point(1, 0, 5), point(1, 1, 10), point(1, 10, 20), point(1, 100, 30)]));
  const text = svgOf(made, options);
  expect(/d="(M[^"]*)" fill="none"/.exec(text)?.[1]).toBe("M64.0 376.0L424.0 205.0L784.0 34.0");
  expect(overLogX(chart("loss", [point(1, 0, 5)])).data[0]).toHaveLength(0);
});
