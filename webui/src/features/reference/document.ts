/** The API's OpenAPI document, as the reference shows it. Pure. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly description?: string;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface DescribedOperation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly { readonly name: string; readonly in: "path" | "query"; readonly required?: boolean; readonly description?: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
  /** Empty: for everybody. */
  readonly security?: readonly unknown[];
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly schemas: Schemas };
}

export type Schemas = Readonly<Record<string, Schema>>;

/** A parameter, or a member of an object. */
export interface Field {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
  /** The object inside it, whose members can be shown. */
  readonly inner: Schema | undefined;
}

export interface Operation {
  /** Also its anchor. */
  readonly id: string;
  readonly tag: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly pathParameters: readonly Field[];
  readonly queryParameters: readonly Field[];
  readonly body: Schema | undefined;
  readonly reply: Schema | undefined;
  /** The reply is a stream: one such object on each line. */
  readonly streams: boolean;
  readonly errors: readonly { readonly status: string; readonly reason: string }[];
  readonly needsLogin: boolean;
}

const methods = ["get", "post", "put", "patch", "delete"] as const;
const lines = "application/x-ndjson";
const other = "Other";

/** A sentence begins with a capital letter. */
const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** All operations, by tag, then by path; of one path in the usual order of methods. */
export function operationsOf({ paths }: ApiDocument): Operation[] {
  const all = Object.entries(paths).flatMap(([path, operations]) =>
    methods.flatMap((method): Operation[] => {
      const described = operations[method];
      if (described === undefined) return [];
      const { parameters = [], responses } = described;
      const fields = (place: "path" | "query") =>
        parameters
          .filter((one) => one.in === place)
          .map(({ name, required = false, description = "", schema }): Field => ({ name, type: typeOf(schema), required, description, inner: undefined }));
      const done = responses["200"]?.content ?? {};
      return [
        {
          id: described.operationId,
          tag: described.tags?.[0] ?? other,
          method: method.toUpperCase(),
          path,
          summary: sentence(described.summary ?? ""),
          pathParameters: fields("path"),
          queryParameters: fields("query"),
          body: described.requestBody?.content["application/json"]?.schema,
          reply: (done[lines] ?? done["application/json"])?.schema,
          streams: lines in done,
          errors: Object.entries(responses)
            .filter(([status]) => status !== "200")
            .map(([status, { description }]) => ({ status, reason: description })),
          needsLogin: described.security?.length !== 0,
        },
      ];
    }),
  );
  return all.sort((a, b) => Number(a.tag === other) - Number(b.tag === other) || a.tag.localeCompare(b.tag));
}

/** Those that have all words of the search in method, path, summary, tag or operation ID. */
export function found(operations: readonly Operation[], search: string): readonly Operation[] {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return operations;
  return operations.filter(({ method, path, summary, tag, id }) => {
    const text = `${method} ${path} ${summary} ${tag} ${id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Operations under the heading of their tag. */
export function byTag(operations: readonly Operation[]): ReadonlyMap<string, readonly Operation[]> {
  const groups = new Map<string, Operation[]>();
  for (const operation of operations) groups.set(operation.tag, [...(groups.get(operation.tag) ?? []), operation]);
  return groups;
}

const nameOf = ($ref: string) => $ref.slice($ref.lastIndexOf("/") + 1);

/** "integer", "Trial[]", "map of string": a schema as one says it. */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.enum !== undefined) return schema.enum.map((value) => `"${value}"`).join(" | ");
  if (schema.type === "array") return `${schema.items === undefined ? "any" : typeOf(schema.items)}[]`;
  if (schema.type === "object" && schema.properties === undefined)
    return typeof schema.additionalProperties === "object" ? `map of ${typeOf(schema.additionalProperties)}` : "object";
  if (schema.format === "int64") return "int64 as a string";
  if (schema.format === "date-time") return "date and time";
  return schema.format ?? schema.type ?? "any JSON value";
}

/** The object that a schema is, or that is in it: behind a reference, in a list or a map. */
export function objectIn(schema: Schema | undefined, schemas: Schemas): Schema | undefined {
  if (schema === undefined) return undefined;
  if (schema.$ref !== undefined) return objectIn(schemas[nameOf(schema.$ref)], schemas);
  if (schema.properties !== undefined) return Object.keys(schema.properties).length > 0 ? schema : undefined;
  if (schema.items !== undefined) return objectIn(schema.items, schemas);
  return typeof schema.additionalProperties === "object" ? objectIn(schema.additionalProperties, schemas) : undefined;
}

/** The members of an object, those that are always there first as the document has them. */
export function fieldsOf(schema: Schema | undefined, schemas: Schemas): Field[] {
  const object = objectIn(schema, schemas);
  return Object.entries(object?.properties ?? {}).map(([name, member]) => ({
    name,
    type: typeOf(member),
    required: object?.required?.includes(name) ?? false,
    description: member.description ?? "",
    inner: objectIn(member, schemas),
  }));
}

/** A value of the right form, for an example: of objects the members that are required, or else the first one. */
export function exampleOf(schema: Schema, schemas: Schemas, depth = 0): unknown {
  if (schema.$ref !== undefined) return exampleOf(schemas[nameOf(schema.$ref)] ?? {}, schemas, depth);
  if (schema.enum !== undefined) return schema.enum[0];
  switch (schema.type) {
    case "object": {
      const members = Object.entries(schema.properties ?? {});
      const needed = members.filter(([name]) => schema.required?.includes(name));
      const shown = depth > 3 ? [] : needed.length > 0 ? needed : members.slice(0, 1);
      return Object.fromEntries(shown.map(([name, member]) => [name, exampleOf(member, schemas, depth + 1)]));
    }
    case "array":
      return depth > 3 || schema.items === undefined ? [] : [exampleOf(schema.items, schemas, depth + 1)];
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return true;
    case "string":
      return schema.format === "int64" ? "1" : schema.format === "date-time" ? "2026-01-31T12:00:00Z" : "text";
    default:
      return {};
  }
}

/** A text as one word of a shell. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The call on the command line; what is in braces is to be replaced. */
export function curlOf({ method, path, body, streams, needsLogin, queryParameters }: Operation, origin: string, schemas: Schemas): string {
  const needed = queryParameters.filter(({ required }) => required).map(({ name }) => `${name}=…`);
  const address = origin + path + (needed.length > 0 ? `?${needed.join("&")}` : "");
  return [
    `curl ${streams ? "--no-buffer " : ""}${method === "GET" ? "" : `-X ${method} `}${quoted(address)}`,
    ...(needsLogin ? [`-H "Authorization: Bearer $DET_TOKEN"`] : []),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(exampleOf(body, schemas)))}`]),
  ].join(" \\\n  ");
}
