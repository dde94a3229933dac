import { expect, test } from "vitest";
import { Positions } from "./scroll";

const shelf = (text: string | null = null) => ({
  text,
  getItem() {
    return this.text;
  },
  setItem(_: string, value: string) {
    this.text = value;
  },
});

test("each entry of the history has a position of its own, also after a reload", () => {
  const kept = shelf();
  const positions = new Positions(kept);
  positions.keep("a", 120.4);
  positions.keep("b", 7);
  positions.keep("a", 300);
  expect([positions.at("a"), positions.at("b"), positions.at("new")]).toEqual([300, 7, 0]);
  positions.store();
  expect(new Positions(kept).at("a")).toBe(300);
});

test("the oldest are forgotten, and what cannot be read is nothing", () => {
  const positions = new Positions(shelf("no JSON"));
  for (let i = 0; i <= 100; i += 1) positions.keep(String(i), i + 1);
  expect([positions.at("0"), positions.at("1"), positions.at("100")]).toEqual([0, 2, 101]);
});
