import { expect, test } from "vitest";
import { FormMemory } from "./dirty";

const text = (value: string) => ({ type: "text", value, isConnected: true });

test("a form is changed while a field has another content than when somebody came to it", () => {
  const [memory, name] = [new FormMemory(), text("a")];
  memory.reached(name);
  expect(memory.changed()).toBe(false);
  name.value = "ab";
  memory.reached(name);
  expect(memory.changed()).toBe(true);
  memory.settle();
  expect(memory.changed()).toBe(false);
  memory.reached(name);
  name.value = "a";
  expect(memory.changed()).toBe(true);
  name.value = "ab";
  expect(memory.changed()).toBe(false);
});

test("what was filled in by itself, and fields that are gone, are no change", () => {
  const [memory, filled, gone] = [new FormMemory(), text(""), text("")];
  filled.value = "loaded";
  memory.reached(filled);
  memory.reached(gone);
  gone.value = "typed";
  gone.isConnected = false;
  expect(memory.changed()).toBe(false);
});

test("a tick is a change", () => {
  const [memory, box] = [new FormMemory(), { type: "checkbox", value: "on", checked: false, isConnected: true }];
  memory.reached(box);
  box.checked = true;
  expect(memory.changed()).toBe(true);
});
