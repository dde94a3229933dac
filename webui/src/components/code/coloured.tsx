import { useMemo } from "react";
import { pieces } from "./highlight";

/** A program in the colours of its language. */
export default function Coloured({ text, language }: { text: string; language: string }) {
  const parts = useMemo(() => pieces(text, language), [text, language]);
  return parts.map(({ text: part, kind }, at) =>
    kind === "" ? part : (
      <span key={at} className={`code-${kind}`}>
        {part}
      </span>
    ),
  );
}
