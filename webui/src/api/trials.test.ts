import { expect, test } from "vitest";
import { ApiError } from "./client";
import { foundOrMissing } from "./trials";

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
