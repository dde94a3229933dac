import { expect, test } from "vitest";
import { lengthText } from "./config";

test.each([
  [{ batches: 240 }, "240 batches"],
  [{ batches: 1 }, "1 batch"],
  [{ epochs: 1 }, "1 epoch"],
  [{ records: 64_000 }, "64,000 records"],
  [1000, "1,000 batches"],
  ["long", ""],
  [{}, ""],
])("a search whose max_length is %j trains for %s", (max_length, expected) => {
  expect(lengthText({ searcher: { max_length } })).toBe(expected);
});
