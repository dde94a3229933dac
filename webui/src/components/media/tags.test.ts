import { expect, test } from "vitest";
import { matching, placeOf, together } from "./tags";

const image = (tag: string, steps: number[]) => ({ kind: "image" as const, tag, steps });

test("the tags of several trials are put together by kind and name", () => {
  const shown = together([
    [7, [{ kind: "text", tag: "a", steps: [1] }, image("b10", [10, 30]), image("b9", [1])]],
    [8, [image("b10", [20, 30])]],
  ]);
  expect(shown).toEqual([
    { kind: "image", tag: "b9", steps: [1], trials: [7] },
    { kind: "image", tag: "b10", steps: [10, 20, 30], trials: [7, 8] },
    { kind: "text", tag: "a", steps: [1], trials: [7] },
  ]);
});

test("a tag matches that has all words in it", () => {
  const shown = together([[1, [image("val/Samples", [1]), image("train/samples", [1])]]]);
  expect(matching(shown, "samp VAL").map(({ tag }) => tag)).toEqual(["val/Samples"]);
  expect(matching(shown, " ")).toHaveLength(2);
});

test("what is shown at a step is the last that is not after it", () => {
  const steps = [10, 20, 30];
  expect([undefined, 5, 10, 29, 30, 99].map((wanted) => placeOf(steps, wanted))).toEqual([2, 0, 0, 1, 2, 2]);
});
