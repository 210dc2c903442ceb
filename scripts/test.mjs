// Runs all tests, or the files that are named: first those that share a worker's modules, then those that measure their
// process, each in one of its own. The end lists the slowest files, the files that take longer than recorded, and every
// failure; the last line counts the tests. The exit code is 0 only if all passed. With `--record` the times are recorded.
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { failures, grown, readReport, slowest, timesOf, total } from "./test/Summary.mjs"
import { calibrate, readTimes, recordTimes } from "./test/Times.mjs"

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))

const reports = mkdtempSync(join(tmpdir(), "svc-test-report-"))
const named = process.argv.slice(2).filter((word) => word !== "--record")
const isRecording = process.argv.includes("--record")

/** Runs a project of vitest.config.ts. Returns the report of its files, with a failure if the tests ended without one. */
const run = (project, options) => {
  const path = join(reports, project)
  const { status } = spawnSync(
    process.execPath,
    [
      join("node_modules", "vitest", "vitest.mjs"),
      "run",
      "--project",
      project,
      "--passWithNoTests",
      "--reporter=default",
      "--reporter=./scripts/test/Reporter.mjs",
      ...options,
      ...named
    ],
    { stdio: "inherit", env: { ...process.env, SVC_TEST_REPORT: path } }
  )
  const report = existsSync(path) ? readReport(readFileSync(path, "utf8")) : []
  // The last entry says that the run came to its end: a pool that breaks down leaves files out.
  const { isEnd, late } = report.at(-1) ?? {}
  if (late > 0) console.log(`${project}: ${late} results of tests were answered after 60 s: the machine stood still.`)
  if (isEnd && (status === 0 || late > 0 || failures(report).length > 0)) return report
  const failure = { test: "(its end)", error: `vitest ended with ${status} before it had run all files` }
  return [...report, { project, file: "(the run)", seconds: 0, passed: 0, failures: [failure] }]
}

const before = calibrate()
// Files wait for processes while others compute; those that measure have a core each.
const workers = ["min", "max"].map((bound) => `--poolOptions.forks.${bound}Forks=${availableParallelism() + 1}`)
// The young generation of the program (decision 24): the services of most tests run in the workers. Twice, since vitest
// takes a single value for a list of letters.
const youngGeneration = ["64", "64"].map(
  (megabytes) => `--poolOptions.forks.execArgv=--max-semi-space-size=${megabytes}`
)
const report = [...run("shared", ["--no-isolate", ...workers, ...youngGeneration]), ...run("measuring", [])]
const calibration = Math.max(before, calibrate())
rmSync(reports, { recursive: true, force: true })

const times = timesOf(report)
const recorded = readTimes()
const failed = failures(report)
const passed = report.reduce((sum, file) => sum + file.passed, 0)
const show = (title, lines) => lines.length > 0 && console.log(`\n${title}\n${lines.join("\n")}`)

show("The slowest files:", slowest(times))
show(
  `Files that take longer than test/times.json says (calibration ${calibration.toFixed(0)} ms, recorded ${recorded.calibration} ms; \`npm run test:times\` records):`,
  grown(times, calibration, recorded)
)
console.log(`\nAll files: ${total(times, times)} s; recorded for the same files: ${total(recorded.files, times)} s.`)
if (isRecording && failed.length === 0) recordTimes(times, calibration, named.length === 0)
show("Failures:", failed)

if (passed + failed.length === 0) console.error(`no test has this name: ${named.join(" ")}`)
console.log(`${passed} passed, ${failed.length} failed`)
process.exit(passed > 0 && failed.length === 0 ? 0 : 1)
