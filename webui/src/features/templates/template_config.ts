/** Templates as the API has them, and what their pages say of them. */

import { flatten } from "../../components/format";

/** In which calls a template is named. */
export const one = "/api/v1/templates/{templateName}";
export const at = (templateName: string) => ({ path: { templateName } });

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
  if (wanted === "") return "Enter a name.";
  return taken.includes(wanted) ? `Template ${wanted} already exists. Open it to edit it.` : undefined;
}

/** How one uses it on the command line. */
export function usage(name: string): string {
  const word = /^[\w./@%+=:,-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
  return `det experiment create const.yaml . --template ${word}`;
}
