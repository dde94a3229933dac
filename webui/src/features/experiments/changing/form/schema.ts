/** What the JSON Schema of configurations says about a field. Pure. */

export interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Node>>;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

export type Path = readonly (string | number)[];

/** A field, over all forms in which it may be written. */
export interface Field {
  readonly about: string;
  /** Undefined: none is known. */
  readonly fallback: unknown;
  /** Where only these may be; empty: others, too. */
  readonly choices: readonly string[];
  readonly types: readonly string[];
  readonly forms: readonly Node[];
}

/** The forms that a node allows, without those whose fixed fields are others in `value`. */
function forms(node: Node, root: Node, value: unknown): readonly Node[] {
  if (node.$ref !== undefined) return forms(root.$defs?.[node.$ref.replace("#/$defs/", "")] ?? {}, root, value);
  const several = node.anyOf ?? node.oneOf;
  if (several !== undefined) return several.flatMap((one) => forms(one, root, value));
  if (node.type === "null") return [];
  return Object.entries(node.properties ?? {}).some(([name, { const: fixed }]) => {
    const is = member(value, name);
    return fixed !== undefined && is !== undefined && is !== fixed;
  })
    ? []
    : [node];
}

const member = (value: unknown, name: string | number): unknown =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string | number, unknown>>)[name] : undefined;

const without = (value: unknown, name: string | number): unknown => (typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value, [name]: undefined } : value);

/** The nodes for a path in a configuration; none: no such field. */
function nodesAt(root: Node, path: Path, config: unknown): readonly Node[] {
  let nodes: readonly Node[] = [root];
  let value = config;
  path.forEach((name, depth) => {
    // What a field is now does not narrow down what it may be.
    const others = depth === path.length - 1 ? without(value, name) : value;
    nodes = nodes
      .flatMap((node) => forms(node, root, others))
      .flatMap((node) => {
        const known = node.properties?.[name];
        if (known !== undefined) return [known];
        return typeof node.additionalProperties === "object" ? [node.additionalProperties] : [];
      });
    value = member(value, name);
  });
  return nodes;
}

/** What the schema says about the field at a path; undefined where there is no such field. */
export function fieldAt(root: Node, path: Path, config: unknown): Field | undefined {
  const nodes = nodesAt(root, path, config);
  if (nodes.length === 0) return undefined;
  const value = path.reduce(member, config);
  const all = nodes.flatMap((node) => forms(node, root, value));
  const listed = all.map(({ enum: names, const: only }) => names ?? (only === undefined ? undefined : [only]));
  return {
    about: nodes.find(({ description }) => description !== undefined)?.description ?? "",
    fallback: nodes.find((node) => node.default !== undefined)?.default,
    choices: listed.every((names) => names !== undefined) ? [...new Set(listed.flat().map(String))] : [],
    types: [...new Set(all.flatMap(({ type }) => (type === undefined ? [] : [type])))],
    forms: all,
  };
}

/** Why a value cannot be at a field; "" if it can, as far as the field by itself says. */
export function problemOf({ forms: allowed, types, choices }: Field, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (choices.length > 0) return choices.includes(String(value)) ? "" : `must be one of: ${choices.join(", ")}`;
  if (allowed.some(({ type }) => type === undefined)) return "";
  const fitting = allowed.filter(({ type = "" }) => isOf(type, value));
  if (fitting.length === 0) return `must be ${types.map((type) => (type === "integer" ? "a whole number" : `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`)).join(" or ")}`;
  const outside = fitting.map(rangeProblem.bind(undefined, value));
  return outside.includes("") ? "" : (outside[0] ?? "");
}

function isOf(type: string, value: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && !Array.isArray(value);
  return typeof value === type;
}

function rangeProblem(value: unknown, { minimum, exclusiveMinimum, maximum }: Node): string {
  if (typeof value !== "number") return "";
  if (minimum !== undefined && value < minimum) return `must be at least ${minimum}`;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return `must be greater than ${exclusiveMinimum}`;
  if (maximum !== undefined && value > maximum) return `must be at most ${maximum}`;
  return "";
}

/** Sections are not opened deeper, to list what may be added. */
const deepest = 3;

/** The paths of all fields that a configuration may have and has not, with dots. */
export function missing(root: Node, config: unknown): readonly string[] {
  const found = new Set<string>();
  const walk = (nodes: readonly Node[], value: unknown, above: readonly string[]) => {
    for (const node of nodes.flatMap((one) => forms(one, root, value)))
      for (const [name, inner] of Object.entries(node.properties ?? {})) {
        const path = [...above, name];
        const own = member(value, name);
        const sections = forms(inner, root, own).filter(({ properties }) => properties !== undefined);
        if (sections.length > 0 && path.length < deepest) walk(sections, own, path);
        else if (own === undefined && forms(inner, root, own).length > 0) found.add(path.join("."));
      }
  };
  walk([root], config, []);
  return [...found].sort();
}
