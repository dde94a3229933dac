import { expect, test } from "vitest";
import { type JobForecast, outlookOf } from "./outlook";

const forecast = (some: Partial<JobForecast>): JobForecast => ({
  jobId: "j",
  resourcePool: "default",
  byProgress: false,
  ...some,
});

test.each<[some: Partial<JobForecast>, running: boolean, text: string]>([
  [{ endSeconds: 750 }, true, "ends in 12 min"],
  [{ endSeconds: 5 }, true, "ends within a minute"],
  [{}, true, ""],
  [{ startSeconds: 7500, endSeconds: 9000 }, false, "starts in 2 h 05 min"],
  [{ startSeconds: 0 }, false, "starts within a minute"],
  [{}, false, "not in sight"],
])("%j, running %s: %s", (some, running, text) => {
  expect(outlookOf(forecast(some), running)?.text).toBe(text);
});

test("what a forecast rests on is said", () => {
  expect(outlookOf(forecast({ endSeconds: 5, byProgress: true }), true)?.because).toBe("If it goes on as until now");
  expect(outlookOf(forecast({ startSeconds: 60, endSeconds: 3600, earlierExperiment: 7 }), false)?.because).toBe(
    "If the jobs before it go on as until now; ends in 1 h 00 min. If it takes as long as experiment 7.",
  );
  expect(outlookOf(undefined, false)).toBeUndefined();
});
