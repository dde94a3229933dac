import { useSyncExternalStore } from "react";

/** Whether keys without Ctrl do something. Remembered by this browser: who speaks to it may have to switch them off. */

const key = "single-keys";
const listeners = new Set<() => void>();

function read(): boolean {
  try {
    return localStorage.getItem(key) !== "off";
  } catch {
    return true;
  }
}

let on = read();

export function setSingleKeys(next: boolean): void {
  on = next;
  try {
    localStorage.setItem(key, next ? "on" : "off");
  } catch {
    // A browser that keeps nothing: the choice holds until the page is left.
  }
  for (const listener of listeners) listener();
}

export const singleKeys = (): boolean => on;

export const useSingleKeys = (): boolean =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, singleKeys);
