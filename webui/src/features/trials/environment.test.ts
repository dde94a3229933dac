import { expect, test } from "vitest";
import { gitText } from "../../components/git";
import { environmentSections } from "./environment";

test.each([
  [undefined, ""],
  [{}, ""],
  [{ commit: "89abcdef012345" }, "89abcdef0123"],
  [{ commit: "89abcdef012345", branch: "main", dirty: false }, "89abcdef0123 (main)"],
  [{ commit: "89abcdef012345", branch: "main", dirty: true }, "89abcdef0123 (main, changed)"],
])("the commit of %o", (git, text) => expect(gitText(git)).toBe(text));

test("each environment has its sections, and what is unknown is left out", () => {
  const sections = environmentSections({
    environments: [
      {
        environment: {
          hardware: { cpu: "fast", gpu_driver: null, memory_bytes: 1024, gpus: [{ name: "H100", memory_bytes: 2048 }] },
          switches: { cudnn_benchmark: false },
          packages: ["torch==2.11.0", "mine @ file:///src"],
        },
        found: [
          { runId: 3, rank: 0 },
          { runId: 2, rank: 0 },
          { runId: 3, rank: 1 },
        ],
      },
      { environment: { hardware: { cpu: "slow" } }, found: [{ runId: 1, rank: 0 }] },
    ],
    seeds: { trial: 7 },
    git: {},
  });
  expect(sections).toEqual([
    { title: "Source", rows: [["Trial seed", "7"]] },
    {
      title: "Run 2, 3",
      rows: [
        ["cpu", "fast"],
        ["memory", "1.0 KB"],
        ["GPU 0", "H100, 2.0 KB"],
      ],
    },
    { title: "Settings", rows: [["cudnn benchmark", "false"]] },
    {
      title: "Packages",
      rows: [
        ["torch", "2.11.0"],
        ["mine", "file:///src"],
      ],
    },
    { title: "Run 1", rows: [["cpu", "slow"]] },
  ]);
});
