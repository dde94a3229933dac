/** A list as one run of rows of equal height: groups with a head, open or closed, or one without. Pure. */

export interface Section {
  readonly count: number;
  readonly open: boolean;
  /** Without a head: the only one, of a list that has no groups. */
  readonly headed: boolean;
}

export type Place = { readonly kind: "head"; readonly section: number } | { readonly kind: "row"; readonly section: number; readonly row: number };

const lengthOf = ({ count, open, headed }: Section): number => (headed ? 1 : 0) + (open ? count : 0);

export const rowsOf = (sections: readonly Section[]): number => sections.reduce((sum, section) => sum + lengthOf(section), 0);

/** What stands at places from `first` up to and without `end`. */
export function placesOf(sections: readonly Section[], first: number, end: number): readonly Place[] {
  const places: Place[] = [];
  let at = 0;
  for (const [section, one] of sections.entries()) {
    const length = lengthOf(one);
    for (let inside = Math.max(0, first - at); inside < length && at + inside < end; inside++) {
      const row = one.headed ? inside - 1 : inside;
      places.push(row < 0 ? { kind: "head", section } : { kind: "row", section, row });
    }
    at += length;
    if (at >= end) break;
  }
  return places;
}

export interface PageOf {
  readonly section: number;
  /** From 0. */
  readonly page: number;
}

/** The pages that have the rows of some places. */
export function pagesFor(places: readonly Place[], pageSize: number): readonly PageOf[] {
  const pages = new Map<string, PageOf>();
  for (const place of places) {
    if (place.kind === "head") continue;
    const page = Math.floor(place.row / pageSize);
    pages.set(`${place.section} ${page}`, { section: place.section, page });
  }
  return [...pages.values()];
}
