import { expect, test } from "vitest";
import { parseQuery } from "../../../components/address/paths";
import { nameOf, viewText } from "./saved_views";

test("a view is what the address says, whatever its order and wherever it is scrolled to", () => {
  const text = viewText({ state: "paused", row: "300", filter: "lr < 1e-3 and user = me", search: "" });
  expect(text).toBe(viewText({ filter: "lr < 1e-3 and user = me", state: "paused" }));
  expect(parseQuery(text)).toEqual({ filter: "lr < 1e-3 and user = me", state: "paused" });
  expect(nameOf([{ key: "Mine", value: text }], text)).toBe("Mine");
  expect(nameOf([{ key: "Mine", value: text }], viewText({}))).toBeUndefined();
});
