// Runs every check that needs no running service, and prints a line for each. `npm run verify -- NAME…` runs some.
import { spawn } from "node:child_process"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { slowest } from "./test/Summary.mjs"
import { readTimes } from "./test/Times.mjs"

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))

const code = ["src", "test", "migrations", "bench", "scripts", "examples"]

/** The name and the command of each check, the longest first. */
const checks = [
  // Types live long: room for new ones spares the collector a fifth of all the time.
  ["types", process.execPath, "--max-semi-space-size=128", "scripts/typeRules.mjs"],
  ["guest types", "tsc", "--project", "src/runtime/sandbox/runner/prelude"],
  ["flow library types", "tsc", "--project", "src/runtime/sandbox/flow"],
  ["web types", process.execPath, "scripts/webTypes.mjs"],
  ["web sizes", process.execPath, "scripts/webSizes.mjs"],
  ["lint", "oxlint", ...code],
  ["format", "oxfmt", "--check", ...code],
  ["imports", "depcruise", "src", "--config", ".dependency-cruiser.cjs"],
  ["unused", "knip", "--no-progress"],
  // An export that only tests use carries the tag @internal.
  ["production", "knip", "--production", "--no-progress"],
  ["unsteady", process.execPath, "scripts/unsteady.mjs"],
  ["generated", process.execPath, "scripts/generate.mjs", "--check"],
  [
    "documents",
    "redocly",
    "lint",
    "--config",
    "redocly.yaml",
    ...["a", "b", "c", "embed"].map((one) => `docs/openapi/${one}.json`)
  ],
  ["compatibility", process.execPath, "scripts/compatibility.mjs"]
]

const run = (command, args) =>
  new Promise((resolve) => {
    const child = spawn(command, args, {
      env: {
        ...process.env,
        PATH: `${join(process.cwd(), "node_modules", ".bin")}${delimiter}${process.env.PATH}`,
        NO_COLOR: "1",
        // Keeps redocly from sending telemetry and from asking for newer versions.
        REDOCLY_TELEMETRY: "off",
        REDOCLY_SUPPRESS_UPDATE_NOTICE: "true"
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    child.stdout.on("data", (part) => (output += part))
    child.stderr.on("data", (part) => (output += part))
    child.on("error", (cause) => resolve({ passed: false, output: String(cause) }))
    child.on("close", (status) => resolve({ passed: status === 0, output }))
  })

const names = process.argv.slice(2)
const unknown = names.filter((name) => !checks.some(([check]) => check === name))
if (unknown.length > 0) {
  console.error(`There is no check ${unknown.join(", ")}; there are ${checks.map(([name]) => name).join(", ")}.`)
  process.exit(2)
}

let failed = 0
const pending = checks.filter(([name]) => names.length === 0 || names.includes(name))

/** Runs checks until none is left. */
const work = async () => {
  for (let check = pending.shift(); check !== undefined; check = pending.shift()) {
    const [name, command, ...args] = check
    const started = performance.now()
    const { passed, output } = await run(command, args)
    console.log(`${passed ? "ok  " : "FAIL"} ${name.padEnd(13)} ${((performance.now() - started) / 1000).toFixed(1)} s`)
    if (!passed) {
      failed += 1
      console.log(output.trimEnd().replaceAll(/^/gm, "     "))
    }
  }
}
// Each check uses about one core.
await Promise.all([work(), work()])
if (names.length === 0) console.log(`The slowest test files, as recorded:\n${slowest(readTimes().files).join("\n")}`)
console.log(failed === 0 ? "verify: all checks passed" : `verify: ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
