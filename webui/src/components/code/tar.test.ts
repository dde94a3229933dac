import { expect, test } from "vitest";
import { asText, readTar, tree } from "./tar";

const bytes = (text: string) => new TextEncoder().encode(text);

function entry(name: string, content: string, type = "0", prefix = ""): Uint8Array {
  const data = bytes(content);
  const made = new Uint8Array(512 + Math.ceil(data.length / 512) * 512);
  made.set(bytes(name), 0);
  made.set(bytes("0000644\0"), 100);
  made.set(bytes(`${data.length.toString(8).padStart(11, "0")}\0`), 124);
  made.set(bytes(`${(1700000000).toString(8)}\0`), 136);
  made.set(bytes(type), 156);
  made.set(bytes(prefix), 345);
  made.set(data, 512);
  return made;
}

function archive(...entries: Uint8Array[]): Uint8Array {
  const all = [...entries, new Uint8Array(1024)].flatMap((part) => [...part]);
  return new Uint8Array(all);
}

test("files and directories come with path, mode, time and content", () => {
  const read = readTar(archive(entry("src/", "", "5"), entry("src/a.py", "print(1)\n"), entry("empty", "")));
  expect(read.map(({ path, type }) => [path, type])).toEqual([
    ["src", 53],
    ["src/a.py", 48],
    ["empty", 48],
  ]);
  expect(read[1]).toMatchObject({ mode: 0o644, mtime: 1700000000 });
  expect(asText(read[1]?.content ?? new Uint8Array())).toBe("print(1)\n");
});

test("long names come from the prefix, a pax header or a GNU one", () => {
  const long = `${"x".repeat(120)}/model.py`;
  const record = ` path=${long}\n`;
  const length = record.length + String(record.length + 3).length;
  expect(readTar(archive(entry("b.py", "1", "0", "deep/a"))).map(({ path }) => path)).toEqual(["deep/a/b.py"]);
  expect(readTar(archive(entry("pax", `${length}${record}`, "x"), entry("cut", "1"), entry("next", "2"))).map(({ path }) => path)).toEqual([
    long,
    "next",
  ]);
  expect(readTar(archive(entry("././@LongLink", `${long}\0`, "L"), entry("cut", "1"))).map(({ path }) => path)).toEqual([long]);
});

test("an archive that is cut off is refused; links are left out", () => {
  expect(() => readTar(archive(entry("a", "x".repeat(600))).subarray(0, 700))).toThrow("truncated");
  expect(readTar(archive(entry("link", "", "2"), entry("a", "1"))).map(({ path }) => path)).toEqual(["a"]);
});

test("bytes that are no text are not shown as text", () => {
  expect(asText(new Uint8Array([0xff, 0xfe]))).toBeUndefined();
  expect(asText(new Uint8Array([65, 0]))).toBeUndefined();
  expect(asText(bytes("ü"))).toBe("ü");
});

test("paths are a tree, directories first", () => {
  expect(tree(["z.py", "a.py", "lib/b.py", "lib/sub/c.py"])).toEqual([
    {
      name: "lib",
      path: "lib",
      children: [
        { name: "sub", path: "lib/sub", children: [{ name: "c.py", path: "lib/sub/c.py" }] },
        { name: "b.py", path: "lib/b.py" },
      ],
    },
    { name: "a.py", path: "a.py" },
    { name: "z.py", path: "z.py" },
  ]);
});
