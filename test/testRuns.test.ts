/** The end of a run of tests (`scripts/test.mjs`): what failed is named, and what grew. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

interface FileReport {
  readonly project?: string
  readonly file: string
  readonly seconds: number
  readonly passed: number
  readonly failures: ReadonlyArray<{
    readonly test: string
    readonly error: string
    readonly isBroken?: boolean
    readonly isWait?: boolean
  }>
  readonly isEnd?: boolean
  readonly listed?: ReadonlyArray<{ readonly project: string; readonly file: string }>
}
const { withTimes } = (await import(path.resolve("scripts/test/Times.mjs"))) as {
  readonly withTimes: (
    recorded: Recorded,
    times: Recorded["files"],
    calibration: number,
    exists: (file: string) => boolean
  ) => Recorded
}
interface Recorded {
  readonly calibration: number
  readonly files: Readonly<Record<string, number>>
}
// The script has no types.
const summary = (await import(path.resolve("scripts/test/Summary.mjs"))) as {
  readonly readReport: (text: string) => ReadonlyArray<FileReport>
  readonly failures: (report: ReadonlyArray<FileReport>) => ReadonlyArray<string>
  readonly slowest: (times: Recorded["files"], count?: number) => ReadonlyArray<string>
  readonly grown: (times: Recorded["files"], calibration: number, recorded: Recorded) => ReadonlyArray<string>
}

/** Files of a run in which much fails. */
const files = {
  "passes.test.ts": `import { test } from "vitest"
    test("passes", () => {})`,
  "fails.test.ts": `import { describe, test } from "vitest"
    describe("a group", () => {
      test("fails", () => { throw new Error("first line\\nsecond line") })
      test("passes", () => {})
    })`,
  "hooks.test.ts": `import { beforeAll, describe, test } from "vitest"
    describe("a group", () => {
      beforeAll(() => { throw new Error("no service") })
      test("waits for it", () => {})
    })`,
  "loads.test.ts": `import "./missing.js"`,
  "outside.test.ts": `import { test } from "vitest"
    test("ends before its work", async () => {
      setTimeout(() => { throw new Error("too late") }, 1)
      await new Promise((resolve) => setTimeout(resolve, 50))
    })`
}
/** Files whose failures differ in what they say of the service. */
const kinds = {
  "kinds.test.ts": `import { test } from "vitest"
    test("wrong", () => { throw new Error("1 is not 2") })
    test("broken", () => { throw new Error("an outer error", { cause: new Error("BROKEN PROMISE: lost") }) })
    test("one of several", () => { throw new AggregateError([new Error("a"), new Error("BROKEN PROMISE: doubled")], "all") })
    test("late", () => { throw new Error("not within 30000 ms: {}") })
    test("limit", () => new Promise(() => {}), 20)
    test("lost", () => fetch("http://127.0.0.1:1/"))`,
  "dies.test.ts": `import { test } from "vitest"
    test("dies", () => { process.kill(process.pid, "SIGKILL"); for (;;); })`
}

/** Runs these files by vitest with the reporter of `npm test`. */
const reportOf = (files: Readonly<Record<string, string>>): ReadonlyArray<FileReport> => {
  fs.mkdirSync(".tmp", { recursive: true })
  // Inside the repository, whose packages the files import.
  const directory = fs.mkdtempSync(path.resolve(".tmp/runs-"))
  try {
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(directory, name), text)
    fs.writeFileSync(path.join(directory, "vitest.config.ts"), "export default { test: { name: 'few' } }")
    const report = path.join(directory, "report")
    spawnSync(
      process.execPath,
      [
        path.resolve("node_modules/vitest/vitest.mjs"),
        "run",
        `--reporter=${path.resolve("scripts/test/Reporter.mjs")}`
      ],
      { cwd: directory, env: { PATH: process.env["PATH"], SVC_TEST_REPORT: report } }
    )
    return summary.readReport(fs.readFileSync(report, "utf8"))
  } finally {
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

describe("The end of a run of tests", () => {
  it("names each failed test, its file, and its error in one line", () => {
    const report = reportOf(files)
    const lines = summary.failures(report).toSorted()
    assert.lengthOf(lines, 4, lines.join("\n"))
    assert.strictEqual(lines[0], "FAILED (no file) > (outside a test): too late")
    assert.strictEqual(lines[1], "FAILED |few| fails.test.ts > a group > fails: first line ⏎ second line")
    assert.strictEqual(lines[2], "FAILED |few| hooks.test.ts > a group (its hooks): no service")
    assert.match(lines[3] ?? "", /^FAILED \|few\| loads\.test\.ts > \(the file\): .*missing\.js/)
    assert.sameMembers(
      report.map(({ file }) => file).filter((file) => !file.startsWith("(")),
      Object.keys(files)
    )
    assert.isTrue(report.at(-1)?.isEnd)
  })

  it("tells broken promises and waits that ended from other failures, and which files were to run", () => {
    const report = reportOf(kinds)
    const found = report.find(({ file }) => file === "kinds.test.ts")
    assert.deepStrictEqual(
      found?.failures.map(({ isBroken = false, isWait = false, test }) => [test, isBroken, isWait]),
      [
        ["wrong", false, false],
        ["broken", true, false],
        ["one of several", true, false],
        ["late", false, true],
        ["limit", false, true],
        ["lost", false, true]
      ]
    )
    assert.sameMembers(report[0]?.listed?.map(({ file }) => file) ?? [], Object.keys(kinds))
    assert.isUndefined(report.find(({ file }) => file === "dies.test.ts"))
    assert.isUndefined(report.at(-1)?.isEnd)
  })

  it("lists the slowest files", () => {
    const times = Object.fromEntries(Array.from({ length: 20 }, (_, seconds) => [`${seconds}.test.ts`, seconds]))
    assert.deepStrictEqual(
      summary.slowest(times, 2).map((line) => line.trim()),
      ["19.0 s  19.test.ts", "18.0 s  18.test.ts"]
    )
  })

  it("says which files grew, and by how much, for the speed of the machine", () => {
    const recorded = { calibration: 100, files: { "much.test.ts": 10, "little.test.ts": 10, "small.test.ts": 1 } }
    const now = { "much.test.ts": 25, "little.test.ts": 14, "small.test.ts": 4, "new.test.ts": 50 }
    const grown = (calibration: number) => summary.grown(now, calibration, recorded).map((line) => line.trim())
    assert.deepStrictEqual(grown(100), ["+15.0 s  much.test.ts (25.0 s)"])
    assert.deepStrictEqual(grown(50), grown(100))
    assert.deepStrictEqual(grown(200), [])
  })

  it("records the times of some files, as the machine of the others would have taken", () => {
    const recorded = { calibration: 100, files: { "a.test.ts": 10, "gone.test.ts": 1 } }
    const isThere = (file: string) => file !== "gone.test.ts"
    const found = (calibration: number) => withTimes(recorded, { "b.test.ts": 8 }, calibration, isThere)
    assert.deepStrictEqual(found(200), { calibration: 100, files: { "a.test.ts": 10, "b.test.ts": 4 } })
    assert.deepStrictEqual(found(50), { calibration: 100, files: { "a.test.ts": 10, "b.test.ts": 8 } })
  })
})
