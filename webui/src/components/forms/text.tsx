import { late } from "../late";

/** Where a configuration is written. */
export function YamlField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <textarea
      className="code mono"
      rows={16}
      aria-label="Configuration (YAML)"
      value={value}
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

const Coloured = late(
  () => import("../code/coloured").then((m) => m.default),
  ({ text }) => <>{text}</>,
);

/** Text as in an editor, with line numbers; in the colours of its language, as soon as the code for that is there. */
export function NumberedText({ text, language }: { text: string; language?: string | undefined }) {
  const lines = text.replace(/\n$/, "").split("\n").length;
  return (
    <div className="code numbered" tabIndex={0} role="region" aria-label="Text">
      <pre className="lines" aria-hidden="true">
        {Array.from({ length: lines }, (_, index) => index + 1).join("\n")}
      </pre>
      <pre>{language === undefined ? text : <Coloured text={text} language={language} />}</pre>
    </div>
  );
}
