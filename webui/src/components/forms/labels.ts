/** Labels as one edits them: in one line, separated by commas. Pure. */

/** A label that has a comma, or a quote before all, stands in quotes; a quote in it is doubled, as in CSV. */
export const labelsText = (labels: readonly string[]): string =>
  labels.map((label) => (/[,]|^"/.test(label) ? `"${label.replaceAll('"', '""')}"` : label)).join(", ");

/** The labels of such a line, each once. */
export function labelsOf(text: string): string[] {
  const parts = text.match(/\s*"(?:[^"]|"")*"\s*(?=,|$)|[^,]+/g) ?? [];
  const labels = parts.map((part) => {
    const trimmed = part.trim();
    return /^"(?:[^"]|"")*"$/.test(trimmed) ? trimmed.slice(1, -1).replaceAll('""', '"').trim() : trimmed;
  });
  return [...new Set(labels.filter((label) => label !== ""))];
}
