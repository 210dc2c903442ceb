// Runs test files by vitest in a process of its own, and reads the report of their results.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { failures, readReport } from "./Summary.mjs"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/**
 * Runs the files of a project of vitest.config.ts, all if none are named. Returns the report, with a failure if the tests ended
 * without one. `limitMillis`: the run is ended after this time. `isOrdered`: the files run in the order in which they are named.
 */
export const runVitest = (reports, project, options, files, { isOrdered = false, limitMillis } = {}) => {
  const path = join(reports, project)
  rmSync(path, { force: true })
  const { status } = spawnSync(
    process.execPath,
    [
      join(root, "node_modules", "vitest", "vitest.mjs"),
      "run",
      "--project",
      project,
      "--passWithNoTests",
      "--reporter=default",
      `--reporter=${join(root, "scripts", "test", "Reporter.mjs")}`,
      ...options,
      ...files
    ],
    {
      stdio: "inherit",
      env: {
        ...process.env,
        SVC_TEST_REPORT: path,
        SVC_TEST_PROJECT: project,
        ...(isOrdered ? { SVC_TEST_ORDER: files.join(",") } : {})
      },
      ...(limitMillis === undefined ? {} : { timeout: limitMillis })
    }
  )
  const report = existsSync(path) ? readReport(readFileSync(path, "utf8")) : []
  // The last entry says that the run came to its end: a pool that breaks down leaves files out.
  const { isEnd, late } = report.at(-1) ?? {}
  if (late > 0) console.log(`${project}: ${late} results of tests were answered after 60 s: the machine stood still.`)
  if (isEnd && (status === 0 || late > 0 || failures(report).length > 0)) return report
  const failure = { test: "(its end)", error: `vitest ended with ${status} before it had run all files` }
  return [...report, { project, file: "(the run)", seconds: 0, passed: 0, failures: [failure], isIncomplete: true }]
}
