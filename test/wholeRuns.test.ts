/** A whole run of tests (`scripts/test.mjs`), from its first file to its last line, over files that fail in each way. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

/** Runs these files as the whole suite. Each may keep what is to last until it runs again in files of `process.cwd()`. */
const runOf = (files: Readonly<Record<string, string>>) => {
  fs.mkdirSync(".tmp", { recursive: true })
  // Inside the repository, whose packages the files import.
  const directory = fs.mkdtempSync(path.resolve(".tmp/whole-"))
  try {
    fs.mkdirSync(path.join(directory, "test"))
    fs.writeFileSync(path.join(directory, "test", "times.json"), `{ "calibration": 30, "files": {} }`)
    for (const [name, text] of Object.entries(files))
      fs.writeFileSync(
        path.join(directory, name),
        `import { appendFileSync, existsSync, writeFileSync } from "node:fs"
        import { test } from "vitest"
        const isFirst = !existsSync("${name}.ran")
        writeFileSync("${name}.ran", "")
        ${text}`
      )
    const projects = ["in-process", "apart", "promises"].map((name) => ({
      test: { name, include: name === "in-process" ? Object.keys(files) : [] }
    }))
    fs.writeFileSync(
      path.join(directory, "vitest.config.ts"),
      `export default { test: { pool: "forks", projects: ${JSON.stringify(projects)} } }`
    )
    const { status, stdout } = spawnSync(process.execPath, [path.resolve("scripts/test.mjs"), "--quick"], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], SVC_TEST_ROOT: directory }
    })
    const lines = stdout.trim().split("\n")
    const below = (title: string) => {
      const rest = lines.slice(lines.indexOf(title) + 1)
      return lines.includes(title) ? rest.slice(0, rest.indexOf("") < 0 ? -1 : rest.indexOf("")) : []
    }
    return {
      status,
      counts: lines.at(-1),
      unsteady: below("Unsteady:"),
      failed: below("Failures:"),
      again: lines.filter((line) => line.startsWith("Again, ")).toSorted()
    }
  } finally {
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

describe("A whole run of tests", () => {
  it("runs again alone what failed, and passes if that was unsteady", () => {
    const run = runOf({
      "once.test.ts": `test("fails once", () => { if (isFirst) throw new Error("1 is not 2") })`,
      "served.test.ts": `test("logs once", () => {
        const entry = { project: "in-process", file: "(a shared service)", seconds: 0, passed: 0,
          failures: [{ test: "(its log)", error: "a line" }], served: ["served.test.ts", "steady.test.ts"] }
        if (isFirst) appendFileSync(process.env.SVC_TEST_REPORT, JSON.stringify(entry) + "\\n")
      })`,
      "steady.test.ts": `test("passes", () => {})`
    })
    assert.deepStrictEqual([run.status, run.counts, run.failed], [0, "3 passed, 0 failed", []])
    assert.include(run.again, "Again, alone: once.test.ts")
    assert.include(run.again, "Again, one after the other: served.test.ts, steady.test.ts")
    assert.include(run.unsteady.join("\n"), "once.test.ts > fails once: 1 is not 2 (passed alone)")
    assert.include(run.unsteady.join("\n"), "served.test.ts, steady.test.ts > (its log): a line")
  })

  it("runs once more what has no result, since its worker died", () => {
    const run = runOf({
      "dies.test.ts": `test("dies", () => { if (isFirst) { process.kill(process.pid, "SIGKILL"); for (;;); } })`,
      "beside.test.ts": `test("passes", () => {})`
    })
    assert.deepStrictEqual([run.status, run.counts, run.failed], [0, "2 passed, 0 failed", []])
  })

  it("names what fails again, and never excuses a broken promise", () => {
    const run = runOf({
      "always.test.ts": `test("always fails", () => { throw new Error("1 is not 2") })`,
      "broken.test.ts": `test("loses", () => { if (isFirst) throw new Error("BROKEN PROMISE: a run is lost") })`
    })
    assert.deepStrictEqual([run.status, run.counts], [1, "0 passed, 2 failed"])
    assert.deepStrictEqual(run.again, ["Again, alone: always.test.ts", "Again, alone: always.test.ts"])
    assert.deepStrictEqual(run.failed.toSorted(), [
      "FAILED |in-process| always.test.ts > always fails: 1 is not 2",
      "FAILED |in-process| broken.test.ts > loses: BROKEN PROMISE: a run is lost"
    ])
  })

  it("runs nothing again when 26 files fail: the product is broken", () => {
    const names = Array.from({ length: 26 }, (_, n) => `file${n}.test.ts`)
    const run = runOf(
      Object.fromEntries(
        names.map((name) => [name, `test("fails once", () => { if (isFirst) throw new Error("no") })`])
      )
    )
    assert.deepStrictEqual([run.status, run.counts, run.again], [1, "0 passed, 26 failed", []])
  })
})
