/** The fields of a configuration in YAML, one by one. What a person wrote around them stays: comments, order, quotes. Pure. */

import { type Document, isMap, parse, parseDocument, stringify, visit } from "yaml";
import type { Field, Path } from "./schema";

/** A field as it is written. */
export interface Row {
  readonly path: Path;
  readonly value: unknown;
  /** Its value as one writes it in a line. */
  readonly text: string;
}

export interface Parsed {
  readonly config: unknown;
  readonly rows: readonly Row[];
}

/** What is in a text; a string: why it is no configuration. */
export function parseConfig(text: string): Parsed | string {
  const document = parseDocument(text, { prettyErrors: true });
  const wrong = document.errors[0];
  if (wrong !== undefined) return wrong.message;
  const config: unknown = document.toJS();
  if (typeof config !== "object" || config === null || Array.isArray(config)) return "A configuration has fields, as in “name: digits”.";
  return { config, rows: rowsOf(config, []) };
}

/** The rows by section, in their order; "": of no section. */
export function sectionsOf(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  const sections = new Map<string, Row[]>();
  for (const row of rows) {
    const section = row.path.length > 1 ? String(row.path[0]) : "";
    sections.set(section, [...(sections.get(section) ?? []), row]);
  }
  return sections;
}

function rowsOf(value: unknown, path: Path): readonly Row[] {
  if (typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([name, inner]) => rowsOf(inner, [...path, name]));
  return [{ path, value, text: lineOf(value) }];
}

function lineOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null ? "" : stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
}

/** The text with another value of a field, or with a field that it did not have. */
export function withValue(text: string, path: Path, value: unknown): string {
  return changed(text, (document) => document.setIn(path, typeof value === "object" && value !== null ? flow(document, value) : value));
}

/** The text without a field, and without sections that would be empty then. */
export function withoutField(text: string, path: Path): string {
  return changed(text, (document) => {
    for (let length = path.length; length > 0; length--) {
      const place = path.slice(0, length);
      const inner: unknown = document.getIn(place);
      if (length < path.length && !(isMap(inner) && inner.items.length === 0)) return;
      document.deleteIn(place);
    }
  });
}

function flow(document: Document, value: object): unknown {
  const node = document.createNode(value);
  visit(node, { Collection: (_, inner) => void (inner.flow = true) });
  return node;
}

function changed(text: string, change: (document: Document) => void): string {
  const document = parseDocument(text) as Document;
  change(document);
  return document.toString({ lineWidth: 0 });
}

/** What somebody typed into a field, as a value: text where the field has only text, else as YAML reads it. */
export function typed(text: string, field: Field | undefined): unknown {
  if (field !== undefined && field.types.length === 1 && field.types[0] === "string") return text;
  try {
    return parse(text) as unknown;
  } catch {
    return text;
  }
}
