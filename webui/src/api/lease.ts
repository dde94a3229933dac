/**
 * A place among few that the windows of one browser share: a browser opens only six connections to one server, and a
 * stream keeps one. A window that is closed without a word loses its place after a moment. Two windows that look at the
 * same instant may both have a place; that is harmless.
 */

const places = 2;
const leaseMs = 10_000;
export const renewMs = 3_000;

type Shelf = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export class Lease {
  private readonly holder = Math.random().toString(36).slice(2);
  private held: string | undefined;

  constructor(
    private readonly name: string,
    private readonly shelf: Shelf | undefined,
  ) {}

  /** Takes or keeps a place; false: all are taken, or the browser keeps nothing. */
  take(now: number): boolean {
    try {
      for (let place = 0; this.held === undefined && place < places; place += 1) {
        const key = `${this.name}-${place}`;
        const [, since = ""] = this.shelf?.getItem(key)?.split(" ") ?? [];
        if (since === "" || Math.abs(now - Number(since)) > leaseMs) this.held = key;
      }
      if (this.held === undefined || this.shelf === undefined) return false;
      this.shelf.setItem(this.held, `${this.holder} ${now}`);
      return true;
    } catch {
      return false;
    }
  }

  release() {
    if (this.held === undefined) return;
    try {
      if (this.shelf?.getItem(this.held)?.startsWith(`${this.holder} `)) this.shelf.removeItem(this.held);
    } catch {
      // It ends by itself.
    }
    this.held = undefined;
  }
}
