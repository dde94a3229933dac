/** Programs as coloured pieces. Pure. */

import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import ini from "highlight.js/lib/languages/ini";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

const lowlight = createLowlight({ bash, cpp, ini, json, python, yaml });

export interface Piece {
  readonly text: string;
  /** "keyword", "string", …; empty: plain. */
  readonly kind: string;
}

interface Node {
  readonly type: string;
  readonly value?: string;
  readonly children?: readonly Node[];
  readonly properties?: { readonly className?: unknown };
}

/** Longer texts are shown plain: colouring them would take seconds. */
const lettersMax = 300_000;

/** The text in pieces, in its order. */
export function pieces(text: string, language: string): readonly Piece[] {
  if (text.length > lettersMax) return [{ text, kind: "" }];
  const found: Piece[] = [];
  const walk = (node: Node, kind: string) => {
    if (node.type === "text") found.push({ text: node.value ?? "", kind });
    const classes = node.properties?.className;
    const own = Array.isArray(classes) ? String(classes[0] ?? "").replace(/^hljs-/, "") : kind;
    for (const child of node.children ?? []) walk(child, node.type === "element" ? own : kind);
  };
  walk(lowlight.highlight(language, text) as unknown as Node, "");
  return found;
}
