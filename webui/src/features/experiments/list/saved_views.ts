/** Views of the list as texts: the part of an address that says what is shown. Pure. */

import { type Query, queryText } from "../../../components/address/paths";

/** What of an address a view is: everything but the page that one is on. */
export function viewText(query: Query): string {
  const kept = Object.entries(query).filter(([name]) => name !== "page");
  return queryText(Object.fromEntries(kept.sort(([a], [b]) => a.localeCompare(b)))).replace("?", "");
}

/** The name under which what is shown is saved. */
export const nameOf = (views: readonly { readonly key: string; readonly value: string }[], text: string): string | undefined =>
  views.find(({ value }) => value === text)?.key;
