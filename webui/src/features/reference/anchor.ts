import { useEffect, useState } from "react";

const named = () => decodeURIComponent(location.hash.slice(1));

/** The part of the page that the address names after its #. */
export function useAnchor(): string {
  const [name, setName] = useState(named);
  useEffect(() => {
    const hear = () => setName(named());
    window.addEventListener("hashchange", hear);
    return () => window.removeEventListener("hashchange", hear);
  }, []);
  return name;
}

/** Names a part of the page in the address and shows it. The page stays one entry of the history. */
export function showAnchor(name: string): void {
  history.replaceState(history.state, "", `${location.search}#${encodeURIComponent(name)}`);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  document.getElementById(name)?.scrollIntoView();
}
