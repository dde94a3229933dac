import { lazy, Suspense } from "react";
import type { MarkdownProps } from "./markdown";

const Markdown = lazy(() => import("./markdown"));

/** A text that somebody wrote, in Markdown. It is shown as it is until the code that reads Markdown is there. */
export function Prose(props: MarkdownProps) {
  return (
    <Suspense fallback={<p className="prose plain">{props.text}</p>}>
      <Markdown {...props} />
    </Suspense>
  );
}
