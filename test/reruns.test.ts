/** Which files of a run run again, alone (`scripts/test/Reruns.mjs`): none whose failure may be a fault is excused. */
import { assert, describe, it } from "@effect/vitest"
import * as path from "node:path"

interface Failure {
  readonly test: string
  readonly error: string
  readonly isBroken?: boolean
  readonly isWait?: boolean
}
interface File {
  readonly project: string
  readonly file: string
}
interface Entry extends Partial<File> {
  readonly file: string
  readonly seconds: number
  readonly passed: number
  readonly failures: ReadonlyArray<Failure>
  readonly listed?: ReadonlyArray<File>
  readonly isIncomplete?: boolean
  readonly served?: ReadonlyArray<string>
}
type Report = ReadonlyArray<Entry>
// The script has no types.
const { mostReruns, runAgain } = (await import(path.resolve("scripts/test/Reruns.mjs"))) as {
  readonly mostReruns: number
  readonly runAgain: (
    report: Report,
    runs: {
      readonly alone: (file: File) => Report
      readonly together: (files: ReadonlyArray<File>) => Report
      readonly inOrder: (entry: Entry) => Report
      readonly hasTime: () => boolean
    }
  ) => { readonly report: Report; readonly unsteady: ReadonlyArray<{ readonly file: string; readonly round: number }> }
}

const { problemsOf } = (await import(path.resolve("scripts/test/Unsteady.mjs"))) as {
  readonly problemsOf: (list: unknown, exists: (file: string) => boolean) => ReadonlyArray<string>
}

const wrong: Failure = { test: "t", error: "1 is not 2" }
const late: Failure = { test: "t", error: "not within 30000 ms", isWait: true }
const broken: Failure = { test: "t", error: "BROKEN PROMISE: lost", isBroken: true }
const fileOf = (file: string): File => ({ project: "shared", file })
const entry = (file: string, ...failures: ReadonlyArray<Failure>): Entry => ({
  ...fileOf(file),
  seconds: 7,
  passed: failures.length === 0 ? 2 : 1,
  failures
})
const ended: Entry = {
  project: "shared",
  file: "(the run)",
  seconds: 0,
  passed: 0,
  failures: [{ test: "(its end)", error: "vitest ended with 1" }],
  isIncomplete: true
}
const listOf = (...files: ReadonlyArray<string>): Entry => ({
  file: "(the list)",
  seconds: 0,
  passed: 0,
  failures: [],
  listed: files.map(fileOf)
})

/** Runs the decision. `alone`: what each rerun of a file finds, in order; `together`: what is found of missing files. */
const decide = (
  report: Report,
  alone: Readonly<Record<string, ReadonlyArray<Failure | "passes" | "dies">>> = {},
  together: Report = [],
  rounds = Infinity
) => {
  const ran: Array<string> = []
  const found = runAgain(report, {
    hasTime: () => ran.length < rounds,
    together: (files) => {
      ran.push(files.map(({ file }) => file).join(" "))
      return together
    },
    inOrder: ({ served = [] }) => {
      const files = served.join(" ")
      const next = alone[files]?.[ran.filter((one) => one === files).length] ?? "passes"
      ran.push(files)
      return served.map((file) => entry(file, ...(typeof next === "string" ? [] : [next])))
    },
    alone: ({ file }) => {
      const next = alone[file]?.[ran.filter((one) => one === file).length] ?? "passes"
      ran.push(file)
      return next === "dies" ? [ended] : [entry(file, ...(next === "passes" ? [] : [next]))]
    }
  })
  return {
    ran,
    failed: found.report.flatMap(({ failures, file }) => failures.map(({ error }) => `${file}: ${error}`)),
    passed: found.report.reduce((sum, one) => sum + one.passed, 0),
    unsteady: found.unsteady.map(({ file, round }) => `${file} ${round}`),
    report: found.report
  }
}

describe("A file that failed", () => {
  it("and passes alone is unsteady; the time of its first run stays", () => {
    const { failed, passed, report, unsteady } = decide([entry("a", wrong), entry("b")])
    assert.deepStrictEqual([failed, passed, unsteady], [[], 4, ["a 1"]])
    assert.deepStrictEqual(
      report.map(({ seconds }) => seconds),
      [7, 7]
    )
  })

  it("and fails alone once, must pass twice", () => {
    const twice = decide([entry("a", wrong)], { a: [late, "passes", "passes"] })
    assert.deepStrictEqual([twice.failed, twice.unsteady, twice.ran], [[], ["a 3"], ["a", "a", "a"]])
    const once = decide([entry("a", wrong)], { a: [late, "passes", wrong] })
    assert.deepStrictEqual([once.failed, once.unsteady], [[`a: ${wrong.error}`], []])
  })

  it("and always fails has failed after two reruns", () => {
    const { failed, ran, unsteady } = decide([entry("a", wrong)], { a: [wrong, wrong, wrong] })
    assert.deepStrictEqual([failed, ran, unsteady], [[`a: ${wrong.error}`], ["a", "a"], []])
  })

  it("by a broken promise is final, at first or in a rerun", () => {
    assert.deepStrictEqual(decide([entry("a", wrong, broken)]).ran, [])
    const later = decide([entry("a", late)], { a: [broken, "passes", "passes"] })
    assert.deepStrictEqual([later.failed, later.ran], [[`a: ${broken.error}`], ["a"]])
  })

  it.each(["test/flow/kill.test.ts", "test/http/secrets.test.ts", "test/flow/isolation.test.ts"])(
    "runs again only after waits if it is about kills, isolation or secrets: %s",
    (file) => {
      assert.deepStrictEqual(decide([entry(file, late, wrong)]).failed.length, 2)
      assert.deepStrictEqual(decide([entry(file, late)]).unsteady, [`${file} 1`])
      // What it counts wrong in a rerun is final as well.
      assert.deepStrictEqual(decide([entry(file, late)], { [file]: [wrong] }).ran, [file])
    }
  )

  it("stays failed where no time is left", () => {
    const { failed, unsteady } = decide([entry("a", wrong), entry("b", wrong)], {}, [], 1)
    assert.deepStrictEqual([failed, unsteady], [[`b: ${wrong.error}`], ["a 1"]])
  })

  it(`does not run again beside more than ${mostReruns - 1} others: the product is broken`, () => {
    const most = Array.from({ length: mostReruns }, (_, n) => entry(`f${n}`, wrong))
    assert.lengthOf(decide(most).unsteady, mostReruns)
    const { failed, ran } = decide([...most, entry("one more", wrong)])
    assert.deepStrictEqual([failed.length, ran], [mostReruns + 1, []])
  })
})

describe("A file without a result, since its worker died", () => {
  const cut = [listOf("a", "b", "c"), entry("a"), ended]

  it("runs again with the others, and then no failure is left", () => {
    const { failed, passed, ran, unsteady } = decide(cut, {}, [entry("b"), entry("c")])
    assert.deepStrictEqual([failed, passed, ran, unsteady], [[], 6, ["b c"], []])
  })

  it("runs alone if it has none again", () => {
    const { failed, ran, unsteady } = decide(cut, {}, [entry("c"), ended])
    assert.deepStrictEqual([failed, ran, unsteady], [[], ["b c", "b"], ["b 1"]])
  })

  it("fails if it ends its process also alone", () => {
    const { failed } = decide(cut, { b: ["dies", "dies"] }, [entry("c"), ended])
    assert.deepStrictEqual(failed, ["b: vitest ended with 1"])
  })

  it("leaves the failure of the run where no time is left", () => {
    assert.deepStrictEqual(decide(cut, {}, [], 0).failed, ["(the run): vitest ended with 1"])
  })

  it("excuses no error outside of files", () => {
    const outside = { ...ended, file: "(no file)", isIncomplete: false }
    assert.deepStrictEqual(decide([...cut, outside], {}, [entry("b"), entry("c")]).failed, [
      "(no file): vitest ended with 1"
    ])
  })
})

describe("The list of unsteady files", () => {
  const good = { file: "test/a.test.ts", date: "2026-11-29", error: "not within 30000 ms", cause: null }
  const problems = (list: unknown) => problemsOf(list, (file) => file === good.file)

  it("names each file once, with a day and an error, and its cause once that is known", () => {
    assert.deepStrictEqual(problems([]), [])
    assert.deepStrictEqual(problems([good]), [])
    assert.deepStrictEqual(problems([{ ...good, cause: "a port was taken twice" }]), [])
    assert.deepStrictEqual(problems({}), ["it is no list"])
    assert.deepStrictEqual(problems([good, good]), ["entry 1 names test/a.test.ts again"])
    assert.lengthOf(problems([{ file: "a" }]), 1)
    assert.deepStrictEqual(problems([{ ...good, file: "test/gone.test.ts", date: "today", error: "", cause: "" }]), [
      "file of entry 0 is not a test file",
      "date of entry 0 is not a day such as 2026-11-29",
      "error of entry 0 is not its first error",
      "cause of entry 0 is not its cause, or null"
    ])
  })
})

describe("A service that files shared, and that logged trouble after them", () => {
  const logged: Entry = {
    ...entry("(a shared service)", { test: "(its log)", error: "a line" }),
    passed: 0,
    served: ["a", "b"]
  }

  it("is unsteady if its files pass in the same order", () => {
    const { failed, passed, ran, unsteady } = decide([entry("a"), entry("b"), logged])
    assert.deepStrictEqual([failed, passed, ran, unsteady], [[], 4, ["a b"], ["a, b 1"]])
  })

  it("has failed if that fails twice, and what failed then is named", () => {
    const { failed, ran } = decide([entry("a"), entry("b"), logged], { "a b": [late, wrong] })
    assert.deepStrictEqual(ran, ["a b", "a b"].slice(0, ran.length))
    assert.include(failed.join("\n"), "(a shared service): a line")
  })
})
