// Prints the results of the suite, one line per scenario: report.mjs REVISION FOLDER SCORED
//
// SCORED is a file with the names of the scored scenarios, one per line. The other scenarios are reported
// without effect on the outcome.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [revision, folder, scoredFile] = process.argv.slice(2);
const scored = new Set(readFileSync(scoredFile, "utf8").split("\n").filter(Boolean));
const seen = new Set();
let failed = 0;

const say = (word, name, what) => console.log(`${word.padEnd(5)} ${revision}  ${name.padEnd(52)} ${what}`);

// Directories are named server-SCENARIO-TIME.
const scenario = (name) => name.replace(/^server-/, "").replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, "");

for (const entry of readdirSync(folder).sort()) {
    const name = scenario(entry);
    const file = join(folder, entry, "checks.json");
    if (!existsSync(file)) {
        continue;
    }
    const checks = JSON.parse(readFileSync(file, "utf8"));
    seen.add(name);
    const bad = checks.filter((check) => check.status === "FAILURE" || check.status === "WARNING");
    const good = checks.filter((check) => check.status === "SUCCESS").length;
    const skipped = checks.length - bad.length - good;
    const counts = `${good} checks` + (skipped > 0 ? `, ${skipped} skipped` : "");
    const isGood = bad.length === 0 && good > 0;
    if (scored.has(name)) {
        failed += isGood ? 0 : 1;
        say(isGood ? "ok" : "FAIL", name, counts);
    } else {
        say(isGood ? "ok" : "note", name, `${counts}${isGood ? "" : `, ${bad.length} not met`}; not scored`);
        continue;
    }
    for (const check of bad) {
        console.log(`      ${check.status} ${check.id}: ${(check.errorMessage ?? "").slice(0, 300)}`);
    }
}
for (const name of [...scored].filter((name) => !seen.has(name))) {
    failed += 1;
    say("FAIL", name, "it did not run");
}
const passed = scored.size - failed;
console.log(`conformance ${revision}: ${passed} passed, ${failed} failed, ${seen.size - scored.size} not scored`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
