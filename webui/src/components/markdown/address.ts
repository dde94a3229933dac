/** Where a link in a text may lead: pages of this master, and other servers; not to programs. Undefined: it is no link. */
export function safeAddress(address: string): string | undefined {
  if (/^\/(?![/\\])/.test(address) || address.startsWith("#")) return address;
  return URL.canParse(address) && ["http:", "https:", "mailto:"].includes(new URL(address).protocol) ? address : undefined;
}
