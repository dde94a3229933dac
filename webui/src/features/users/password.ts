/** What keeps a new password, typed twice, from being set; empty: nothing. An empty one would remove the password. */
export function passwordProblem(password: string, again: string): string {
  if (password === "") return "The password is empty.";
  return password === again ? "" : "The two are not the same.";
}
