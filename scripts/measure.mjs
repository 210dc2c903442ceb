// Runs the measurements (`test/measure`), or the files whose paths contain the words that are named: times, memory, rates and
// growth, which depend on the machine. Each file runs in a process of its own, one at a time, and again while one of its
// figures exceeded its bound in each round so far, at most three rounds. Prints each figure beside its bound, the best of the
// rounds. The exit code is 0 only if each figure was within its bound in a round, and nothing else failed in each round.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { failures } from "./test/Summary.mjs"
import { runVitest } from "./test/Vitest.mjs"
import { betterOf, figureLine, figuresOf, isWithin, unsteadyWarning } from "./test/Measures.mjs"

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))

const rounds = 3
const words = process.argv.slice(2)
const files = readdirSync("test/measure", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".measure.ts"))
  .map((name) => `test/measure/${name}`)
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .toSorted()
if (files.length === 0) {
  console.error(`no measurement has this name: ${words.join(" ")}`)
  process.exit(2)
}

const reports = mkdtempSync(join(tmpdir(), "svc-measure-"))
const report = join(reports, "figures")
const options = ["--isolate", "--poolOptions.forks.minForks=1", "--poolOptions.forks.maxForks=1"]

/** A round of a file: its figures by name, and what failed beside them. */
const measure = (file) => {
  rmSync(report, { force: true })
  process.env.SVC_MEASURE_REPORT = report
  const failed = failures(runVitest(reports, "measure", options, [file]))
  return { failed, figures: figuresOf(existsSync(report) ? readFileSync(report, "utf8") : "") }
}

const results = files.map((file) => {
  let figures = {}
  let failed = []
  for (let round = 1; round <= rounds; round++) {
    console.log(`\n${file}, round ${round}`)
    const found = measure(file)
    figures = betterOf(figures, found.figures)
    if (round === 1 || failed.length > 0) failed = found.failed
    if (failed.length === 0 && Object.values(figures).every(isWithin)) break
  }
  // A file that measures nothing proves nothing.
  if (failed.length === 0 && Object.keys(figures).length === 0) failed = [`FAILED ${file}: it reported no figure`]
  return { file, figures, failed }
})
rmSync(reports, { recursive: true, force: true })

for (const { file, figures } of results) console.log(`\n${file}\n${Object.entries(figures).map(figureLine).join("\n")}`)
const failed = results.flatMap(({ failed }) => failed)
if (failed.length > 0) console.log(`\nFailures:\n${failed.join("\n")}`)
const all = results.flatMap(({ figures }) => Object.values(figures))
const exceeded = all.filter((figure) => !isWithin(figure)).length
const warning = unsteadyWarning(JSON.parse(readFileSync("test/unsteady.json", "utf8")))
if (warning !== undefined) console.warn(`\n${warning}`)
console.log(`\n${all.length - exceeded} figures within their bounds, ${exceeded} beyond; ${failed.length} failures`)
process.exit(exceeded === 0 && failed.length === 0 ? 0 : 1)
