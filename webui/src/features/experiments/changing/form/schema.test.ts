import { expect, test } from "vitest";
import { fieldAt, missing, type Node, problemOf } from "./schema";

const root: Node = {
  type: "object",
  $defs: {
    hyperparameter: {
      anyOf: [
        { type: "object", properties: { type: { const: "int" }, minval: { type: "integer" } } },
        { type: "object", properties: { type: { const: "double" }, minval: { type: "number" } } },
        { type: "number" },
      ],
    },
  },
  properties: {
    name: { anyOf: [{ type: "null" }, { type: "string" }], description: "What it is called.", default: null },
    hyperparameters: { type: "object", additionalProperties: { $ref: "#/$defs/hyperparameter" } },
    resources: {
      anyOf: [{ type: "null" }, { type: "object", properties: { slots: { anyOf: [{ type: "null" }, { type: "integer", minimum: 0 }], description: "How many slots.", default: 1 } } }],
    },
    searcher: {
      anyOf: [
        { type: "object", properties: { name: { const: "single" }, max_length: { type: "integer" } } },
        { type: "object", properties: { name: { const: "random" }, max_trials: { type: "integer", minimum: 1 } } },
      ],
    },
  },
};
const config = { searcher: { name: "random" }, hyperparameters: { lr: { type: "double", minval: 1 } } };
const at = (...path: string[]) => {
  const found = fieldAt(root, path, config);
  if (found === undefined) throw new Error(`no field ${path.join(".")}`);
  return found;
};

test("a field has its description, its types and its default", () => {
  expect(at("resources", "slots")).toMatchObject({ about: "How many slots.", types: ["integer"], fallback: 1, choices: [] });
  expect(fieldAt(root, ["resources", "slot"], config)).toBeUndefined();
});

test("what tells forms apart is a choice, and decides the other fields", () => {
  expect(at("searcher", "name").choices).toEqual(["single", "random"]);
  expect(at("hyperparameters", "lr", "minval").types).toEqual(["number"]);
  expect(fieldAt(root, ["searcher", "max_length"], config)).toBeUndefined();
});

test("fields that are not there can be added", () => {
  expect(missing(root, config)).toEqual(["name", "resources.slots", "searcher.max_trials"]);
});

test.each([
  [["resources", "slots"], -1, "must be at least 0"],
  [["resources", "slots"], 1.5, "must be a whole number"],
  [["resources", "slots"], 4, ""],
  [["resources", "slots"], null, ""],
  [["name"], 7, "must be a string"],
  [["searcher", "name"], "grid", "must be one of: single, random"],
  [["hyperparameters", "new"], "x", "must be an object or a number"],
])("at %j, %j: %s", (path, value, why) => {
  expect(problemOf(at(...path), value)).toBe(why);
});
