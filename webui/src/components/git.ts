import type { Git } from "../api/types";

/** "89abcdef0123 (main, changed)". */
export function gitText(git: Git | undefined): string {
  if (!git?.commit) return "";
  const more = [git.branch, git.dirty ? "changed" : ""].filter((part) => part).join(", ");
  return git.commit.slice(0, 12) + (more ? ` (${more})` : "");
}
