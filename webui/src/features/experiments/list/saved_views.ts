/** Views of the list as texts: the part of an address that says what is shown. Pure. */

import type { Query } from "../../../components/address/paths";

/** What of an address a view is: everything but the page that one is on. */
export function viewText(query: Query): string {
  const kept = Object.entries(query).filter(([name, value]) => name !== "page" && value !== "");
  return new URLSearchParams(kept.sort(([a], [b]) => a.localeCompare(b))).toString();
}

export const parseView = (text: string): Query => Object.fromEntries(new URLSearchParams(text));

/** The name under which what is shown is saved. */
export const nameOf = (views: readonly { readonly key: string; readonly value: string }[], text: string): string | undefined =>
  views.find(({ value }) => value === text)?.key;
