// Puts a gzip'd copy beside each text file of dist/, for src/http/server/static_files.cpp, and fails when the pages have
// grown beyond their budget. The terminal has one of its own: it comes to those who open a shell, and to nobody else.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const budgets = { pages: 250_000, terminal: 100_000 };
const packed = { pages: 0, terminal: 0 };
for (const name of readdirSync("dist", { recursive: true })) {
  const path = join("dist", String(name));
  if (!statSync(path).isFile() || !/\.(js|css|html|svg)$/.test(path)) continue;
  const content = gzipSync(readFileSync(path), { level: 9 });
  packed[/[/]terminal-[^/]*$/.test(path) ? "terminal" : "pages"] += content.length;
  if (!path.endsWith(".html")) writeFileSync(`${path}.gz`, content);
}
for (const [part, budget] of Object.entries(budgets)) {
  console.log(`${part}: ${packed[part]} bytes compressed, of ${budget} allowed`);
  if (packed[part] > budget) process.exitCode = 1;
}
if (packed.terminal === 0) throw new Error("the terminal is not apart from the pages any more");
