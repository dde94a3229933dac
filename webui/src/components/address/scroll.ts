/** How far each page in the browser's history was scrolled. */

/** Where it is kept: the browser forgets it with the window. */
export interface Shelf {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

const key = "scrolled";
/** Entries of the history; the oldest go. */
const most = 100;

/** The positions by entry of the history, the last used at the end. */
export class Positions {
  private readonly kept: Map<string, number>;

  constructor(private readonly shelf: Shelf) {
    this.kept = new Map(read(shelf));
  }

  at(entry: string): number {
    return this.kept.get(entry) ?? 0;
  }

  keep(entry: string, top: number): void {
    this.kept.delete(entry);
    this.kept.set(entry, Math.round(top));
    for (const oldest of this.kept.keys()) if (this.kept.size > most) this.kept.delete(oldest);
  }

  /** A reload finds what was stored. */
  store(): void {
    this.shelf.setItem(key, JSON.stringify([...this.kept]));
  }
}

function read(shelf: Shelf): [string, number][] {
  try {
    const list: unknown = JSON.parse(shelf.getItem(key) ?? "[]");
    return Array.isArray(list) ? (list as [string, number][]) : [];
  } catch {
    return [];
  }
}

/** For how long a page that comes back is given to have its content. */
const patienceMs = 5000;

/** Scrolls to where the page was once it is so long again; who scrolls meanwhile is left in peace. Returns how to stop. */
export function scrollBack(top: number): () => void {
  const signs = ["wheel", "touchmove", "keydown", "pointerdown"] as const;
  const stop = () => {
    watch.disconnect();
    clearTimeout(timer);
    for (const sign of signs) window.removeEventListener(sign, stop);
  };
  const attempt = () => {
    window.scrollTo(0, top);
    if (Math.abs(window.scrollY - top) <= 1) stop();
  };
  const watch = new ResizeObserver(attempt);
  const timer = setTimeout(stop, patienceMs);
  for (const sign of signs) window.addEventListener(sign, stop, { passive: true });
  watch.observe(document.body);
  return stop;
}
