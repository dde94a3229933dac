import { lexer, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode, useMemo, useState } from "react";
import { toApiError } from "../../api/loadable";
import { AddPanel, type Arranging, PanelGrid } from "../panels/panel_grid";
import { movedPanel, type Piece, withNewPanel, withoutPanel, withPanel } from "../panels/pieces";
import { Problem } from "../parts";
import { safeAddress } from "./address";

/** A page has headings of its own above. */
const headings = ["h3", "h4", "h5", "h6"] as const;

export interface MarkdownProps {
  readonly text: string;
  /** The project that the text is about: its panels draw experiments of it. */
  readonly projectId?: number | undefined;
  /** Stores the text with its panels arranged in another way; without it, they stay as they are. */
  readonly onChange?: ((text: string) => Promise<void>) | undefined;
}

const isPanel = (token: Token): boolean => token.type === "code" && (token as Tokens.Code).lang === "chart";

/**
 * GitHub's Markdown as elements, without HTML: tags are shown as the text that they are. The end of a line is one, as in
 * comments there. A block of code in the language `chart` is a panel: a chart of trials.
 */
export default function Markdown({ text, projectId, onChange }: MarkdownProps) {
  const tokens = useMemo(() => lexer(text, { gfm: true, breaks: true }), [text]);
  const [dragged, setDragged] = useState<number>();
  const [problem, setProblem] = useState("");
  const pieces = tokens.map((token): Piece => ({ raw: token.raw, isPanel: isPanel(token) }));
  const save = async (next: string) => {
    setProblem("");
    await onChange?.(next);
  };
  const attempt = (next: string) => void save(next).catch((cause: unknown) => setProblem(toApiError(cause).message));
  const arranging: Arranging | undefined = onChange && {
    count: pieces.filter((piece) => piece.isPanel).length,
    dragged,
    onDrag: setDragged,
    onMove: (from, to) => attempt(movedPanel(pieces, from, to)),
    onReplace: (nth, block) => attempt(withPanel(pieces, nth, block)),
    onSave: (nth, block) => save(withPanel(pieces, nth, block)),
    onRemove: (nth) => attempt(withoutPanel(pieces, nth)),
  };
  return (
    <div className="prose">
      {sections(tokens).map((section, at) =>
        "panels" in section ? (
          <PanelGrid key={at} blocks={section.panels} first={section.first} projectId={projectId} arranging={arranging} />
        ) : (
          <Fragment key={at}>{block(section.token as Tokens.Generic)}</Fragment>
        ),
      )}
      <Problem text={problem} />
      {onChange !== undefined && <AddPanel projectId={projectId} onAdd={(block) => save(withNewPanel(pieces, block))} />}
    </div>
  );
}

type Section = { readonly token: Token } | { readonly panels: string[]; readonly first: number };

/** A text's blocks; panels with nothing between them are one. */
function sections(tokens: readonly Token[]): Section[] {
  const all: Section[] = [];
  let count = 0;
  for (const token of tokens) {
    if (token.type === "space") continue;
    const last = all.at(-1);
    if (!isPanel(token)) all.push({ token });
    else if (last !== undefined && "panels" in last) last.panels.push((token as Tokens.Code).text);
    else all.push({ panels: [(token as Tokens.Code).text], first: count });
    if (isPanel(token)) count += 1;
  }
  return all;
}

const blocks = (tokens: readonly Token[]): ReactNode => tokens.map((token, at) => <Fragment key={at}>{block(token as Tokens.Generic)}</Fragment>);

function block(token: Tokens.Generic): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const Heading = headings[Math.min(headings.length, token.depth as number) - 1] ?? "h6";
      return <Heading>{inline(token.tokens)}</Heading>;
    }
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "code":
      if (isPanel(token)) return <PanelGrid blocks={[token.text as string]} first={0} projectId={undefined} arranging={undefined} />; // in a list or quotation
      return (
        <pre tabIndex={0}>
          <code>{token.text}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "list": {
      const List = token.ordered ? "ol" : "ul";
      return (
        <List start={token.ordered ? Number(token.start) : undefined}>
          {(token.items as readonly Tokens.ListItem[]).map((item, at) => (
            <li key={at}>
              {item.task && <input type="checkbox" checked={item.checked ?? false} readOnly disabled aria-label={item.checked ? "done" : "to do"} />}
              {blocks(item.tokens)}
            </li>
          ))}
        </List>
      );
    }
    case "table":
      return <Table of={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "text":
      return token.tokens === undefined ? token.text : inline(token.tokens);
    case "checkbox":
      return null; // of a list, which shows it
    default:
      return token.raw;
  }
}

function Table({ of: { header, rows, align } }: { of: Tokens.Table }) {
  return (
    <div className="table">
      <table aria-label={header.map(({ text }) => text).join(", ")}>
        <thead>
          <tr>
            {header.map((cell, at) => (
              <th key={at} scope="col" className={align[at] === "right" ? "number" : undefined}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, line) => (
            <tr key={line}>
              {row.map((cell, at) => (
                <td key={at} className={align[at] === "right" ? "number" : undefined}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const inline = (tokens: readonly Token[] = []): ReactNode => tokens.map((token, at) => <Fragment key={at}>{span(token as Tokens.Generic)}</Fragment>);

function span(token: Tokens.Generic): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
    case "image": {
      const address = safeAddress(token.href as string);
      const text = token.type === "image" ? token.text || token.href : inline(token.tokens);
      return address === undefined ? text : (
        <a href={address} rel="noopener noreferrer" title={token.title ?? undefined}>
          {text}
        </a>
      );
    }
    case "text":
    case "escape":
      return token.tokens === undefined ? token.text : inline(token.tokens);
    default:
      return token.raw;
  }
}
