// Puts a gzip'd copy beside each text file of dist/, for src/http/server/static_files.cpp, and fails when the pages have
// grown beyond their budget. What is loaded only when it is opened has budgets of its own: the terminal, the API reference, what
// reads Markdown, the colours of code, and the form of configurations.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const budgets = { pages: 250_000, terminal: 100_000, reference: 10_000, markdown: 20_000, coloured: 30_000, config_form: 45_000 };
const packed = Object.fromEntries(Object.keys(budgets).map((part) => [part, 0]));
for (const name of readdirSync("dist", { recursive: true })) {
  const path = join("dist", String(name));
  if (!statSync(path).isFile() || !/\.(js|css|html|svg)$/.test(path)) continue;
  const content = gzipSync(readFileSync(path), { level: 9 });
  const chunk = /[/](\w+)-[^/]*$/.exec(path)?.[1];
  packed[chunk in budgets ? chunk : "pages"] += content.length;
  if (!path.endsWith(".html")) writeFileSync(`${path}.gz`, content);
}
for (const [part, budget] of Object.entries(budgets)) {
  console.log(`${part}: ${packed[part]} bytes compressed, of ${budget} allowed`);
  if (packed[part] > budget) process.exitCode = 1;
}
for (const [part, size] of Object.entries(packed)) if (size === 0) throw new Error(`${part} is no longer a file of its own in dist/`);
