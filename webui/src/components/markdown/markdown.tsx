import { lexer, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode, useMemo } from "react";
import { ChartBlock } from "../charts/chart_block";
import { safeAddress } from "./address";

/** A page has headings of its own above. */
const headings = ["h3", "h4", "h5", "h6"] as const;

/**
 * GitHub's Markdown as elements, without HTML: tags are shown as the text that they are. The end of a line is one, as in
 * comments there. A block of code in the language `chart` is a chart of trials.
 */
export default function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => lexer(text, { gfm: true, breaks: true }), [text]);
  return <div className="prose">{blocks(tokens)}</div>;
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
      if (token.lang === "chart") return <ChartBlock text={token.text as string} />;
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
