/** The configuration of a fork, from the text of its parent: text stays as the user wrote it. Pure. */

const line = (name: string) => new RegExp(`^(${name}:[ \\t]*)(.*)$`, "m");

/** The parent's text, with a description that says what it is. */
export function forkedConfig(text: string): string {
  const name = line("name");
  const found = name.exec(text);
  if (found === null) return text;
  const value = (found[2] ?? "").trim();
  // Anything but a plain word sequence stays untouched: quotes, comments, anchors.
  return /^[\w .+()-]+$/.test(value) && !value.startsWith("Fork of") ? text.replace(name, `$1Fork of ${value}`) : text;
}

/**
 * The parent's text, with `searcher.source_trial_id` naming the trial whose
 * newest checkpoint the new trials begin with. The searcher must be a block,
 * as it nearly always is; else a comment says what to add.
 */
export function continuedConfig(text: string, trialId: number): string {
  const lines = forkedConfig(text).replace(/^[ \t]+source_(trial_id|checkpoint_uuid):.*\n?/gm, "").split("\n");
  const searcher = lines.findIndex((one) => /^searcher:[ \t]*(#.*)?$/.test(one));
  if (searcher < 0) return `# add to the searcher: source_trial_id: ${trialId}\n${lines.join("\n")}`;
  const indent = /^([ \t]+)\S/.exec(lines.slice(searcher + 1).find((one) => /^[ \t]+[^\s#]/.test(one)) ?? "")?.[1] ?? "  ";
  lines.splice(searcher + 1, 0, `${indent}source_trial_id: ${trialId}`);
  return lines.join("\n");
}
