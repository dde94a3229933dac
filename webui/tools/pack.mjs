// Puts a gzip'd copy beside each text file of dist/, for src/http/static_files.cpp,
// and fails when the page has grown beyond its budget.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const budgetBytes = 250_000;
let packedBytes = 0;
for (const name of readdirSync("dist", { recursive: true })) {
  const path = join("dist", String(name));
  if (!statSync(path).isFile() || !/\.(js|css|html|svg)$/.test(path)) continue;
  const packed = gzipSync(readFileSync(path), { level: 9 });
  packedBytes += packed.length;
  if (!path.endsWith(".html")) writeFileSync(`${path}.gz`, packed);
}
console.log(`${packedBytes} bytes compressed, of ${budgetBytes} allowed`);
if (packedBytes > budgetBytes) process.exit(1);
