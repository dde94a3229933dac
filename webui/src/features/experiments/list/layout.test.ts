import { expect, test } from "vitest";
import { layoutText, moved, movedBefore, parseLayout, pinned, resized, shown } from "./layout";

test.each([
  ["id,name,state", "id,name,state"],
  ["id,name:300|state,hp.lr:80", "id,name:300|state,hp.lr:80"],
  ["id|state", "id,name|state"],
  ["state", "name,state"],
  ["", "name"],
  ["name,state,state:90", "name,state"],
  ["name:3,state:99999", "name:40,state:1200"],
  ["name:wide", "name"],
  ["name|hp.a%2Cb%7C%3A:70", "name|hp.a%2Cb%7C%3A:70"],
  ["name,hp.%", "name,hp.%25"],
])("%j is the layout %j", (text, canonical) => {
  expect(layoutText(parseLayout(text))).toBe(canonical);
});

const layout = parseLayout("id,name|labels,state,hp.lr");

test.each<[what: string, changed: ReturnType<typeof parseLayout>, text: string]>([
  ["before another", movedBefore(layout, "hp.lr", "labels"), "id,name|hp.lr,labels,state"],
  ["before a pinned one it is pinned", movedBefore(layout, "state", "name"), "id,state,name|labels,hp.lr"],
  ["to the end", movedBefore(layout, "id", undefined), "name|labels,state,hp.lr,id"],
  ["before itself", movedBefore(layout, "state", "state"), "id,name|labels,state,hp.lr"],
  ["to the right", moved(layout, "labels", 1), "id,name|state,labels,hp.lr"],
  ["to the left", moved(layout, "hp.lr", -1), "id,name|labels,hp.lr,state"],
  ["not over the edge", moved(layout, "hp.lr", 1), "id,name|labels,state,hp.lr"],
  ["not among the pinned ones", moved(layout, "labels", -1), "id,name|labels,state,hp.lr"],
  ["pinned", pinned(layout, "state", true), "id,name,state|labels,hp.lr"],
  ["no longer pinned", pinned(layout, "id", false), "name|id,labels,state,hp.lr"],
  ["wider", resized(layout, "state", 200.4), "id,name|labels,state:200,hp.lr"],
  ["as usual", resized(resized(layout, "state", 200), "state", undefined), "id,name|labels,state,hp.lr"],
  ["hidden", shown(layout, "labels", false), "id,name|state,hp.lr"],
  ["shown", shown(layout, "user", true), "id,name|labels,state,hp.lr,user"],
])("a column is moved, pinned, resized: %s", (_what, changed, text) => {
  expect(layoutText(changed)).toBe(text);
});
