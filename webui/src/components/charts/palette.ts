/** Distinguishable on white and on black, also for most who see few colours. */
export const palette = ["#3b7ddd", "#e07a1f", "#2f9e6e", "#c2417a", "#8a6ee0", "#b08a00", "#1b96a8", "#b5523a"] as const;

/** For what is not one of the things that have a colour. */
export const restColour = "#888888";

/** The colour of the thing at a place, from 0: no two places have the same one. */
export function colourAt(place: number): string {
  const chosen = palette[place];
  if (chosen !== undefined) return chosen;
  // Hues a golden angle apart are never near those shortly before them; the lightness keeps those further back apart.
  const hue = (20 + place * 137.508) % 360;
  return `hsl(${hue.toFixed(1)} ${place % 2 === 0 ? 75 : 45}% ${[42, 54, 62][place % 3] ?? 50}%)`;
}

/** A place for each id: those that had one keep it, newcomers take the first that is free. */
export function keptPlaces(before: ReadonlyMap<number, number>, ids: readonly number[]): ReadonlyMap<number, number> {
  const places = new Map(ids.flatMap((id) => (before.has(id) ? [[id, before.get(id) ?? 0] as const] : [])));
  const taken = new Set(places.values());
  let next = 0;
  for (const id of ids) {
    if (places.has(id)) continue;
    while (taken.has(next)) next += 1;
    taken.add(next);
    places.set(id, next);
  }
  return places;
}
