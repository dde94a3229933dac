import { expect, test } from "vitest";
import { safeAddress } from "./address";

test.each(["/det/trials/3", "#results", "https://example.com/a?b#c", "mailto:ada@example.com"])("%s is a link", (address) => {
  expect(safeAddress(address)).toBe(address);
});

test.each(["javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "data:text/html,x", "//example.com", "/\\example.com", "vbscript:x", "trials/3", ""])(
  "%j is not a link",
  (address) => {
    expect(safeAddress(address)).toBeUndefined();
  },
);
