/** The numbers of trials in a text such as "3, 1,x,3": each once, in their order, at most `max`. */
export function comparedIds(text: string, max: number): number[] {
  const ids = text
    .split(/[\s,]+/)
    .map((part) => Number(part.replace(/^#/, "")))
    .filter((id) => Number.isSafeInteger(id) && id > 0);
  return [...new Set(ids)].slice(0, max);
}
