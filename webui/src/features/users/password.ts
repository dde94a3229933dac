/** What keeps a new password, typed twice, from being set; empty: nothing. An empty one would remove the password. */
export function passwordProblem(password: string, again: string): string {
  if (password === "") return "Enter a password.";
  return password === again ? "" : "The passwords do not match.";
}
