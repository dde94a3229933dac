import { useSyncExternalStore } from "react";

/** Light, dark, or what the operating system says. Remembered by this browser. */
export type Theme = "system" | "light" | "dark";

const key = "theme";
const listeners = new Set<() => void>();

function read(): Theme {
  try {
    const kept = localStorage.getItem(key);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}

let theme = read();

function apply(): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
apply();

export function setTheme(next: Theme): void {
  theme = next;
  try {
    localStorage.setItem(key, next);
  } catch {
    // A browser that keeps nothing: the choice holds until the page is left.
  }
  apply();
  for (const listener of listeners) listener();
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  dark.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    dark.removeEventListener("change", listener);
  };
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, () => theme);

/** Whether the page is dark now: what is drawn on a canvas must know. */
export const useDark = (): boolean =>
  useSyncExternalStore(subscribe, () => theme === "dark" || (theme === "system" && dark.matches));
