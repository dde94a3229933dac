import assert from "node:assert/strict";

/** A pool whose machines an engine gives: what it was asked for, what it gave, and the words of the engine. */
export async function machines({ page, open, text, done }, { provider, reason, asks }) {
  await open("/det/cluster");
  const pool = page.getByRole("region", { name: "Machines of pool default" });
  await pool.getByText(provider, { exact: true }).waitFor();
  await pool.getByRole("row", { name: /pending|requested/ }).waitFor();
  assert.match(await text(pool), new RegExp(reason));
  assert.match(await text(pool), new RegExp(asks));
  await pool.getByRole("img", { name: /^Nodes from/ }).waitFor();
  await done("a pool shows its provider, what was requested, and why it is not there yet");
}
