import { Component, type ReactNode } from "react";
import { reloads } from "./reloads";

interface BoundaryProps {
  readonly children: ReactNode;
}

const reloadedKey = "reloaded for a missing part";

/** Says that a page could not be shown, instead of showing nothing at all. */
export class Boundary extends Component<BoundaryProps, { readonly problem?: string }> {
  override state: { readonly problem?: string } = {};

  static getDerivedStateFromError(cause: unknown) {
    return { problem: cause instanceof Error ? cause.message : String(cause) };
  }

  // A part of the page that did not come is asked for once more: as a rule, the master was upgraded meanwhile.
  override componentDidCatch(cause: unknown) {
    const now = Date.now();
    if (!reloads(cause, Number(sessionStorage.getItem(reloadedKey) ?? 0), now)) return;
    sessionStorage.setItem(reloadedKey, String(now));
    location.reload();
  }

  override render() {
    if (this.state.problem === undefined) return this.props.children;
    return (
      <>
        <h1>Cannot show this page</h1>
        <p className="problem" role="alert">
          The master cannot be reached, or it was upgraded after this page was opened: {this.state.problem}
        </p>
        <button type="button" className="primary" onClick={() => location.reload()}>
          Reload
        </button>
      </>
    );
  }
}
