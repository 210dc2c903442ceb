// Runs the test files of test/unsteady.json, or those that are named, many times beside two busy loops: a test that fails here
// depends on a machine at rest. `npm run test:calm -- [--times N] [FILE…]`; 20 times by default. The exit code is 0 only if
// all passed each time.
import { spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { times: { type: "string", default: "20" } }
})
const times = Number(values.times)
if (!Number.isInteger(times) || times < 1) {
  console.error(`--times is a number of rounds, not ${values.times}`)
  process.exit(2)
}

const unsteady = JSON.parse(readFileSync("test/unsteady.json", "utf8")).map(({ file }) => file)
const files = positionals.length > 0 ? positionals : unsteady
if (files.length === 0) {
  console.error("test/unsteady.json is empty: name the files to run")
  process.exit(2)
}

const loops = Array.from({ length: 2 }, () => spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }))
process.on("exit", () => loops.forEach((loop) => loop.kill("SIGKILL")))
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1))

/** The rounds that failed. */
const failed = []
for (let round = 1; round <= times; round++) {
  const started = performance.now()
  const { status } = spawnSync(process.execPath, ["scripts/test.mjs", "--no-rerun", ...files], { stdio: "inherit" })
  if (status !== 0) failed.push(round)
  console.log(
    `round ${round} of ${times}: ${status === 0 ? "passed" : "failed"}, ${Math.round((performance.now() - started) / 1000)} s`
  )
}
console.log(
  `${files.length} files, ${times - failed.length} of ${times} rounds passed${failed.map((round) => `, ${round} failed`).join("")}`
)
process.exit(failed.length === 0 ? 0 : 1)
