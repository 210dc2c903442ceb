// Runs tests: all, the files that are named, or a part of the suite. `--quick` (`npm test`) is all that runs in this process and
// one file for each promise over real processes; `--processes` is the rest. The projects (`test/support/projects.ts`) run one
// after the other. A file that failed runs again, alone (`test/Reruns.mjs`), unless files are named; `--no-rerun` leaves that
// out. The end lists the slowest files, the files that take longer than recorded, what was unsteady and every failure; the last
// line counts the tests. The exit code is 0 only if all passed. With `--record` the times of the files that passed are recorded.
// SVC_TEST_ROOT: a directory with another vitest.config.ts, for the tests of this script. SVC_TEST_REPORTS: where the results
// of a run that is cut are found.
import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { runAgain } from "./test/Reruns.mjs"
import { failures, grown, slowest, timesOf, total, unsteadyLines } from "./test/Summary.mjs"
import { calibrate, readTimes, recordTimes } from "./test/Times.mjs"
import { runVitest } from "./test/Vitest.mjs"

process.chdir(process.env.SVC_TEST_ROOT ?? dirname(dirname(fileURLToPath(import.meta.url))))

const started = Date.now()
const flags = ["--record", "--no-rerun", "--quick", "--processes"]
const words = process.argv.slice(2)
const named = words.filter((word) => !flags.includes(word))
const has = (flag) => words.includes(flag)
const isRerunning = named.length === 0 && !has("--record") && !has("--no-rerun")

const reports = mkdtempSync(join(process.env.SVC_TEST_REPORTS ?? tmpdir(), "svc-test-report-"))
const recorded = readTimes()
const before = calibrate()
const slowness = Math.max(1, before / recorded.calibration)
// Limits and patience of tests are as much longer (`test/support/eventually.ts`).
process.env.SVC_TEST_SLOWNESS = slowness.toFixed(2)

// The young generation of the program (decision 24): the services of most tests run in the workers. Twice, since vitest
// takes a single value for a list of letters.
const youngGeneration = ["64", "64"].map(
  (megabytes) => `--poolOptions.forks.execArgv=--max-semi-space-size=${megabytes}`
)
const workersOf = (count) => ["min", "max"].map((bound) => `--poolOptions.forks.${bound}Forks=${count}`)
/** Files share their worker and its modules: to start a worker and to load those takes longer than most of their tests. */
const sharing = (workers) => ["--no-isolate", ...workersOf(workers), ...youngGeneration]
/** A node and its Postgres take a core: on a slow machine the processes of two files would wait for each other. */
const atOnce = slowness > 2 ? 1 : 2
const options = {
  "in-process": sharing(availableParallelism()),
  apart: [],
  promises: sharing(atOnce),
  processes: sharing(atOnce),
  nodes: sharing(1)
}
const quick = ["in-process", "apart", "promises"]
const isIn = (project) => named.length > 0 || (!has("--quick") && !has("--processes")) || has(partOf(project))
const partOf = (project) => (quick.includes(project) ? "--quick" : "--processes")
const run = (project, words, files, more) => runVitest(reports, project, words, files, more)
const first = Object.keys(options)
  .filter(isIn)
  .flatMap((project) => run(project, options[project], named))

/** Reruns end five minutes before SVC_TEST_DEADLINE (seconds since 1970), and after 25 minutes at the latest. */
const deadline = Number(process.env.SVC_TEST_DEADLINE ?? Infinity) * 1_000
const rerunsEnd = Math.min(Date.now() + 25 * 60_000, deadline - 5 * 60_000)
const left = () => rerunsEnd - Date.now()
const rerun = () => {
  const together = (files) =>
    Object.keys(options).flatMap((project) => {
      const own = files.filter((one) => one.project === project).map(({ file }) => file)
      return own.length === 0 || left() <= 0 ? [] : run(project, options[project], own, { limitMillis: left() })
    })
  // A process, a worker and a Postgres of its own, and nothing beside it.
  const alone = ({ file, project }) => {
    console.log(`\nAgain, alone: ${file}`)
    return run(project, ["--isolate", ...workersOf(1), ...youngGeneration], [file], { limitMillis: left() })
  }
  const inOrder = ({ project, served }) => {
    console.log(`\nAgain, one after the other: ${served.join(", ")}`)
    return run(project, sharing(1), served, { limitMillis: left(), isOrdered: true })
  }
  return runAgain(first, { alone, inOrder, together, hasTime: () => left() > 0 })
}
const { report, unsteady } = isRerunning ? rerun() : { report: first, unsteady: [] }
const calibration = Math.max(before, calibrate())
rmSync(reports, { recursive: true, force: true })

const times = timesOf(first)
const failed = failures(report)
const passed = report.reduce((sum, file) => sum + file.passed, 0)
const show = (title, lines) => lines.length > 0 && console.log(`\n${title}\n${lines.join("\n")}`)

show("The slowest files:", slowest(times))
show(
  `Files that take longer than test/times.json says (calibration ${calibration.toFixed(0)} ms, recorded ${recorded.calibration} ms; \`npm run test:times\` records):`,
  grown(times, calibration, recorded)
)
console.log(`\nAll files: ${total(times, times)} s; recorded for the same files: ${total(recorded.files, times)} s.`)
console.log(`${((Date.now() - started) / 60_000).toFixed(1)} minutes, calibration ${calibration.toFixed(0)} ms.`)
if (has("--record")) recordTimes(timesOf(first.filter((file) => file.failures.length === 0)), calibration)
show("Unsteady:", unsteadyLines(unsteady))
show("Failures:", failed)

if (passed + failed.length === 0) console.error(`no test has this name: ${named.join(" ")}`)
console.log(`${passed} passed, ${failed.length} failed`)
process.exit(passed > 0 && failed.length === 0 ? 0 : 1)
