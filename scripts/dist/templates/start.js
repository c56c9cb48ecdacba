#!/usr/bin/env node
// Starts the program of the package for this system, with the same arguments, streams, signals and exit code.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const system = `${process.platform}-${process.arch}`;
const name = `@scorpiox/code-${system}`;
const program = (() => {
  try {
    return require.resolve(`${name}/scorpiox-code${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    const made = Object.keys(require("./package.json").optionalDependencies);
    const why = made.includes(name)
      ? `the package ${name} is not installed; npm leaves it out with --omit=optional, and on Linux without glibc`
      : `there is no package for ${system}; there are ${made.join(", ")}`;
    console.error(`scorpiox-code: ${why}`);
    process.exit(1);
  }
})();

// These stand before the start: a server may answer before `spawn` returns, and a client may then end it. A console of
// Windows tells the server itself, and `kill` would end it there at once.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
  process.on(signal, () => process.platform === "win32" || child.kill(signal));
const parent = process.ppid;
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// npx sends a signal only to the shell between itself and this script; the shell ends, and passes on nothing.
if (process.env.npm_command === "exec") setInterval(() => process.ppid === parent || child.kill(), 500).unref();
child.on("error", (error) => {
  console.error(`scorpiox-code: ${program} does not start: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // If the signal is ignored, the exit code says the same, as in a shell.
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
});
