// Runs all tests, or the files that are named: first those that share a worker's modules, then those that each have a
// process of their own. The last line counts the tests; the exit code is 0 only if all passed.
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))

const reports = mkdtempSync(join(tmpdir(), "svc-test-report-"))

/** Runs a project of vitest.config.ts. Returns the numbers of its tests. */
const run = (project, options) => {
  const report = join(reports, `${project}.json`)
  const { status } = spawnSync(
    process.execPath,
    [
      join("node_modules", "vitest", "vitest.mjs"),
      "run",
      "--project",
      project,
      "--passWithNoTests",
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report}`,
      ...options,
      ...process.argv.slice(2)
    ],
    { stdio: "inherit" }
  )
  try {
    const { numFailedTests, numPassedTests, success } = JSON.parse(readFileSync(report, "utf8"))
    // A file that could not be loaded has no failed test of its own.
    return { passed: numPassedTests, failed: Math.max(numFailedTests, success && status === 0 ? 0 : 1) }
  } catch {
    // The tests ended before they could report.
    return { passed: 0, failed: status === 0 ? 0 : 1 }
  }
}

const counts = [run("shared", ["--no-isolate"]), run("alone", [])]
rmSync(reports, { recursive: true, force: true })

const total = (name) => counts.reduce((sum, count) => sum + count[name], 0)
const ran = total("passed") + total("failed")
if (ran === 0) console.error(`no test has this name: ${process.argv.slice(2).join(" ")}`)
console.log(`${total("passed")} passed, ${total("failed")} failed`)
process.exit(ran > 0 && total("failed") === 0 ? 0 : 1)
