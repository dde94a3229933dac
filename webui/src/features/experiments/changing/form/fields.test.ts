import { expect, test } from "vitest";
import { parseConfig, typed, withoutField, withValue } from "./fields";

const text = `# tried on Monday
name: digits  # of scikit-learn
hyperparameters:
  lr:
    type: log
    minval: -4.0
  layers: [64, 32]
searcher: {name: single, metric: "error"}
`;

test("each value is a row, with its path", () => {
  const parsed = parseConfig(text);
  if (typeof parsed === "string") throw new Error(parsed);
  expect(parsed.rows.map(({ path, text: shown }) => [path.join("."), shown])).toEqual([
    ["name", "digits"],
    ["hyperparameters.lr.type", "log"],
    ["hyperparameters.lr.minval", "-4"],
    ["hyperparameters.layers", "[ 64, 32 ]"],
    ["searcher.name", "single"],
    ["searcher.metric", "error"],
  ]);
});

test("a value changes, and comments, order and quotes stay", () => {
  const changed = withValue(withValue(text, ["name"], "letters"), ["searcher", "metric"], "loss");
  expect(changed).toContain("# tried on Monday\nname: letters # of scikit-learn\n");
  expect(changed).toContain('metric: "loss"');
});

test("a list that changes stays on its line", () => {
  expect(withValue(text, ["hyperparameters", "layers"], [1, 2])).toContain("layers: [ 1, 2 ]\n");
});

test("a field is added, with the section that it needs", () => {
  expect(withValue(text, ["resources", "slots_per_trial"], 2)).toMatch(/\nresources:\n {2}slots_per_trial: 2\n$/);
});

test("a field is removed, with the section that would be empty", () => {
  const without = withoutField(withoutField(text, ["hyperparameters", "lr", "type"]), ["hyperparameters", "lr", "minval"]);
  expect(without).not.toContain("lr");
  expect(without).toContain("layers");
});

test.each([
  ["a: [1,", "Flow sequence"],
  ["- a", "A configuration has fields"],
  ["", "A configuration has fields"],
])("%j is no configuration", (wrong, why) => {
  expect(parseConfig(wrong)).toContain(why);
});

test("what is typed is text only where nothing else can be", () => {
  const field = (types: string[]) => ({ about: "", fallback: undefined, choices: [], forms: [], types });
  expect(typed("12", field(["string"]))).toBe("12");
  expect([typed("12", field(["integer"])), typed("[1, a]", undefined), typed("1e-3", undefined), typed("{a", undefined)]).toEqual([12, [1, "a"], 0.001, "{a"]);
});
