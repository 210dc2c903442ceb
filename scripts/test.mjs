// Runs all tests, or the files that are named: first those that share a worker's modules, then those that measure their
// process, each in one of its own. In a whole run a file that failed runs again, alone (`test/Reruns.mjs`); `--no-rerun`
// leaves that out. The end lists the slowest files, the files that take longer than recorded, what was unsteady and every
// failure; the last line counts the tests. The exit code is 0 only if all passed. With `--record` the times of the files that
// passed are recorded.
import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { runAgain } from "./test/Reruns.mjs"
import { failures, grown, slowest, timesOf, total, unsteadyLines } from "./test/Summary.mjs"
import { calibrate, readTimes, recordTimes } from "./test/Times.mjs"
import { runVitest } from "./test/Vitest.mjs"

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))

const started = Date.now()
const words = process.argv.slice(2)
const named = words.filter((word) => word !== "--record" && word !== "--no-rerun")
const isRecording = words.includes("--record")
const isRerunning = named.length === 0 && !isRecording && !words.includes("--no-rerun")

const reports = mkdtempSync(join(tmpdir(), "svc-test-report-"))
const before = calibrate()
// The young generation of the program (decision 24): the services of most tests run in the workers. Twice, since vitest
// takes a single value for a list of letters.
const youngGeneration = ["64", "64"].map(
  (megabytes) => `--poolOptions.forks.execArgv=--max-semi-space-size=${megabytes}`
)
const workersOf = (count) => ["min", "max"].map((bound) => `--poolOptions.forks.${bound}Forks=${count}`)
/** Files wait for processes while others compute; those that measure have a core each. */
const options = {
  shared: ["--no-isolate", ...workersOf(availableParallelism() + 1), ...youngGeneration],
  measuring: []
}
const run = (project, files, limitMillis) => runVitest(reports, project, options[project], files, limitMillis)
const first = Object.keys(options).flatMap((project) => run(project, named))

/** Reruns end five minutes before SVC_TEST_DEADLINE (seconds since 1970), and after 25 minutes at the latest. */
const deadline = Number(process.env.SVC_TEST_DEADLINE ?? Infinity) * 1_000
const rerunsEnd = Math.min(Date.now() + 25 * 60_000, deadline - 5 * 60_000)
const left = () => rerunsEnd - Date.now()
const rerun = () => {
  const together = (files) =>
    Object.keys(options).flatMap((project) => {
      const own = files.filter((one) => one.project === project).map(({ file }) => file)
      return own.length === 0 || left() <= 0 ? [] : run(project, own, left())
    })
  // A process, a worker and a Postgres of its own, and nothing beside it.
  const alone = ({ file, project }) => {
    console.log(`\nAgain, alone: ${file}`)
    return runVitest(reports, project, ["--isolate", ...workersOf(1), ...youngGeneration], [file], left())
  }
  return runAgain(first, { alone, together, hasTime: () => left() > 0 })
}
const { report, unsteady } = isRerunning ? rerun() : { report: first, unsteady: [] }
const calibration = Math.max(before, calibrate())
rmSync(reports, { recursive: true, force: true })

const times = timesOf(first)
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
console.log(`${((Date.now() - started) / 60_000).toFixed(1)} minutes, calibration ${calibration.toFixed(0)} ms.`)
if (isRecording) recordTimes(timesOf(first.filter((file) => file.failures.length === 0)), calibration)
show("Unsteady:", unsteadyLines(unsteady))
show("Failures:", failed)

if (passed + failed.length === 0) console.error(`no test has this name: ${named.join(" ")}`)
console.log(`${passed} passed, ${failed.length} failed`)
process.exit(passed > 0 && failed.length === 0 ? 0 : 1)
