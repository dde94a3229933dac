/** Views of the list as texts: the part of an address that says what is shown. Pure. */

import { type Query, queryText } from "../../../components/address/paths";

/** What of an address a view is: everything but how far it is scrolled. */
export function viewText(query: Query): string {
  const kept = Object.entries(query).filter(([name]) => name !== "row");
  return queryText(Object.fromEntries(kept.sort(([a], [b]) => a.localeCompare(b)))).replace("?", "");
}

/** The name under which what is shown is saved. */
export const nameOf = (views: readonly { readonly key: string; readonly value: string }[], text: string): string | undefined =>
  views.find(({ value }) => value === text)?.key;
