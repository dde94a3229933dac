import { expect, test } from "vitest";
import { ApiError } from "../../api/client";
import { comparedIds, foundOrMissing } from "./compared";

test.each([
  ["", []],
  ["3,1", [3, 1]],
  ["3, 1,x,3,#7,0,-2,1.5", [3, 1, 7]],
  ["1,2,3,4,5,6", [1, 2, 3, 4, 5]],
])("%j names the trials %j", (text, expected) => {
  expect(comparedIds(text, 5)).toEqual(expected);
});

test("trials that are not there are named, and the others are shown", async () => {
  const load = async (id: number) => {
    if (id > 9) throw new ApiError(404, `trial ${id} not found`);
    return `trial ${id}`;
  };
  expect(await foundOrMissing([12, 3, 11, 4], load)).toEqual({
    found: ["trial 3", "trial 4"],
    missing: [
      { id: 12, why: "trial 12 not found" },
      { id: 11, why: "trial 11 not found" },
    ],
  });
});

test("a master that does not answer is a failure of all", async () => {
  const load = () => Promise.reject(new ApiError(0, "The master does not answer."));
  await expect(foundOrMissing([1], load)).rejects.toThrow("does not answer");
});
