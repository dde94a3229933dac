import { ApiError } from "../../api/client";

/** The numbers of trials in a text such as "3, 1,x,3": each once, in their order, at most `max`. */
export function comparedIds(text: string, max: number): number[] {
  const ids = text
    .split(/[\s,]+/)
    .map((part) => Number(part.replace(/^#/, "")))
    .filter((id) => Number.isSafeInteger(id) && id > 0);
  return [...new Set(ids)].slice(0, max);
}

/** A trial that cannot be shown, and why. */
export interface Missing {
  readonly id: number;
  readonly why: string;
}

/** Each of the trials by itself: one that is not there, or not to be seen, takes the others away from nobody. */
export async function foundOrMissing<T>(ids: readonly number[], load: (id: number) => Promise<T>): Promise<{ readonly found: readonly T[]; readonly missing: readonly Missing[] }> {
  const missing: Missing[] = [];
  const all = await Promise.all(
    ids.map((id) =>
      load(id).then(
        (value) => [value],
        (cause: unknown) => {
          if (!(cause instanceof ApiError) || (cause.status !== 403 && cause.status !== 404)) throw cause;
          missing.push({ id, why: cause.message });
          return [];
        },
      ),
    ),
  );
  return { found: all.flat(), missing: missing.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id)) };
}
