import { lazy, Suspense } from "react";

const Markdown = lazy(() => import("./markdown"));

/** A text that somebody wrote, in Markdown. It is shown as it is until the code that reads Markdown is there. */
export function Prose({ text }: { text: string }) {
  return (
    <Suspense fallback={<p className="prose plain">{text}</p>}>
      <Markdown text={text} />
    </Suspense>
  );
}
