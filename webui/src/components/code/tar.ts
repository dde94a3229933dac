/** Reads tar archives (ustar, with pax and GNU long names), as the master packs model definitions. Pure. */

export interface TarEntry {
  readonly path: string;
  /** 48 a file, 53 a directory: tar's type codes. */
  readonly type: number;
  readonly mode: number;
  readonly mtime: number;
  readonly content: Uint8Array;
}

const block = 512;
const decoder = new TextDecoder();

function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
}

const octal = (bytes: Uint8Array) => Number.parseInt(text(bytes).trim() || "0", 8);

/** The records of a pax header: "25 path=some/long/name\n", the number counting all its bytes. */
function pax(bytes: Uint8Array): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(32, at);
    const length = Number(decoder.decode(bytes.subarray(at, space)));
    if (space < 0 || !Number.isSafeInteger(length) || length <= space - at) break;
    const record = decoder.decode(bytes.subarray(space + 1, at + length - 1));
    const equals = record.indexOf("=");
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

/** The files and directories of an archive. Throws where it is cut off. */
export function readTar(archive: Uint8Array): TarEntry[] {
  const entries: TarEntry[] = [];
  let longName: string | undefined;
  for (let at = 0; at + block <= archive.length; ) {
    const header = archive.subarray(at, at + block);
    if (header[0] === 0) break;
    const size = octal(header.subarray(124, 136));
    const content = archive.subarray(at + block, at + block + size);
    if (!Number.isSafeInteger(size) || content.length < size) throw new Error("The archive of the model definition is truncated.");
    at += block + Math.ceil(size / block) * block;
    const type = header[156] === 0 ? 48 : (header[156] ?? 48);
    if (type === 120 /* x: pax */) longName = pax(content).get("path") ?? longName;
    else if (type === 76 /* L: GNU */) longName = text(content);
    if (type !== 48 && type !== 53) continue;
    const prefix = text(header.subarray(345, 500));
    const name = text(header.subarray(0, 100));
    const path = longName ?? (prefix === "" ? name : `${prefix}/${name}`);
    longName = undefined;
    entries.push({
      path: path.replace(/\/$/, ""),
      type,
      mode: octal(header.subarray(100, 108)),
      mtime: octal(header.subarray(136, 148)),
      content: type === 48 ? content : new Uint8Array(),
    });
  }
  return entries;
}

/** A file as text, or undefined for bytes that are none. */
export function asText(content: Uint8Array): string | undefined {
  if (content.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return undefined;
  }
}

export interface TreeNode {
  readonly name: string;
  /** The file's path; a directory has children instead. */
  readonly path: string;
  readonly children?: readonly TreeNode[];
}

/** Paths as a tree: directories first, each sorted by name. */
export function tree(paths: readonly string[], prefix = ""): TreeNode[] {
  const directories = new Map<string, string[]>();
  const files: TreeNode[] = [];
  for (const path of paths) {
    const rest = path.slice(prefix.length);
    const slash = rest.indexOf("/");
    if (slash < 0) files.push({ name: rest, path });
    else directories.set(rest.slice(0, slash), [...(directories.get(rest.slice(0, slash)) ?? []), path]);
  }
  const byName = (a: TreeNode, b: TreeNode) => a.name.localeCompare(b.name);
  const inside = [...directories].map(([name, list]) => ({
    name,
    path: prefix + name,
    children: tree(list, `${prefix}${name}/`),
  }));
  return [...inside.sort(byName), ...files.sort(byName)];
}
