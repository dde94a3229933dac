/** Templates as the API has them, and what their pages say of them. */

import { flatten } from "../../components/format";

/** A partial configuration that lies under a user's own. */
export interface Template {
  readonly name: string;
  readonly config: unknown;
  /** As it was written, with its comments. */
  readonly yaml: string;
}

/** Templates are in the workspace "Uncategorized": roles there say who may change them. */
export const place = { workspace: 1 } as const;

export const address = (name: string): string => `templates/${encodeURIComponent(name)}`;

const shownMax = 4;

/** Which settings it has, the first ones by name. */
export function settingsText(config: unknown): string {
  const names = flatten(config).map(([name]) => name);
  const more = names.length - shownMax;
  return names.slice(0, shownMax).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** What is wrong with the name of a new one; undefined: nothing. The master would replace one of the same name. */
export function nameProblem(name: string, taken: readonly string[]): string | undefined {
  const wanted = name.trim();
  if (wanted === "") return "It needs a name.";
  return taken.includes(wanted) ? `There is a template ${wanted} already: open it to change it.` : undefined;
}

/** How one uses it on the command line. */
export function usage(name: string): string {
  const word = /^[\w./@%+=:,-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
  return `det experiment create const.yaml . --template ${word}`;
}
