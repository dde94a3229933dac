// Uses the pages as people do, in Chromium, against a running master:
//
//   npm run check-browser -- http://127.0.0.1:8080 facts.json [directory for screenshots]
//
// tests/e2e/clients/test_webui.py starts such a master, with the experiments that facts.json names. Fails on any
// error in the console, on any request that is refused by the content security policy, on any request to
// another host, and on what accessibility.mjs finds on any page. DET_PARTS=list,trial walks only these.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { compare } from "./compare.mjs";
import { corpus } from "./corpus.mjs";
import { dark } from "./dark.mjs";
import { experiment } from "./experiment.mjs";
import { first } from "./first.mjs";
import { frame } from "./frame.mjs";
import { groups } from "./groups.mjs";
import { hooks } from "./hooks.mjs";
import { start } from "./harness.mjs";
import { keyboard } from "./keyboard.mjs";
import { list } from "./list.mjs";
import { looks } from "./looks.mjs";
import { machines } from "./machines.mjs";
import { live } from "./live.mjs";
import { media } from "./media.mjs";
import { panels } from "./panels.mjs";
import { pareto } from "./pareto.mjs";
import { people } from "./people.mjs";
import { places } from "./places.mjs";
import { policies } from "./policies.mjs";
import { reference } from "./reference.mjs";
import { registry } from "./registry.mjs";
import { resize } from "./resize.mjs";
import { roles } from "./roles.mjs";
import { shells } from "./shells.mjs";
import { many, sizes } from "./sizes.mjs";
import { speed } from "./speed.mjs";
import { takeover } from "./takeover.mjs";
import { tasks } from "./tasks.mjs";
import { templates } from "./templates.mjs";
import { trial } from "./trial.mjs";
import { watching } from "./watching.mjs";

const [base, factsFile, pictures] = process.argv.slice(2);
assert(factsFile, "usage: check.mjs <URL of the master> <facts.json> [directory for screenshots]");
const facts = JSON.parse(readFileSync(factsFile, "utf8"));

const parts = { frame, keyboard, speed, live, list, places, experiment, trial, media, compare, panels, registry, templates, tasks, shells, hooks, policies, groups, watching, resize, reference, dark, looks, people };
// Where roles are enforced, an engine gives the machines, nothing was trained, or very much, several metrics count, there are several, or texts are odd:
// other masters.
const elsewhere = { roles, machines, first, takeover, pareto, corpus, sizes, many };
const wanted = process.env.DET_PARTS?.split(",") ?? Object.keys(parts);

const walk = await start(base, pictures);
try {
  for (const name of wanted) await (parts[name] ?? elsewhere[name])(walk, facts, pictures);
} catch (failure) {
  await walk.failed(failure);
  process.exitCode = 1;
} finally {
  await walk.end();
}
