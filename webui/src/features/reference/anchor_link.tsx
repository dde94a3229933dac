import type { ReactNode } from "react";
import { showAnchor } from "./anchor";

/** A link to a part of this page. */
export function AnchorLink({ to, children }: { to: string; children: ReactNode }) {
  return (
    <a
      href={`${location.search}#${encodeURIComponent(to)}`}
      onClick={(event) => {
        event.preventDefault();
        showAnchor(to);
      }}
    >
      {children}
    </a>
  );
}
