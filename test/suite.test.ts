/** What the tests themselves must not do, since they would fail without a fault of the product. */
import { assert, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import ts from "typescript"

const sources = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => `test/${name}`)
const files = sources.filter((file) => file.endsWith(".test.ts"))

const filesWith = (pattern: RegExp): ReadonlyArray<string> =>
  files.filter((file) => pattern.test(readFileSync(file, "utf8")))

it("a test of a running service reads no event from the outbox, from which the service removes it at any moment", () => {
  const running = filesWith(/\bSELECT [^;`"']*\bpayload\b[^;`"']*\bFROM domain_events\b/)
  assert.deepStrictEqual(running, ["test/runtime/endpointDeliveries.test.ts"])
})

/** The files under test/ that a file imports, directly or not, with itself. */
const reachedBy = (file: string, reached = new Set<string>()): ReadonlySet<string> => {
  if (reached.has(file)) return reached
  reached.add(file)
  for (const [, name = ""] of readFileSync(file, "utf8").matchAll(/(?:from|import) "(\.[^"]+)\.js"/g)) {
    const imported = join(dirname(file), `${name}.ts`)
    if (imported.startsWith("test/") && existsSync(imported)) reachedBy(imported, reached)
  }
  return reached
}

/** Each file that a test reaches, once, with the test that reaches it. */
const suite = new Map(
  [...files, "test/support/globalSetup.ts", "test/support/logSetup.ts"].flatMap((test) =>
    [...reachedBy(test)].map((file) => [file, test] as const)
  )
)

/** What measures, which files under test/measure import alone. */
const measuring = ["pace", "growth", "loopDelay", "heap", "figures"].map((name) => `test/support/${name}.ts`)

it("no test measures: times, memory, rates and growth are bounded in test/measure", () => {
  assert.isAbove(suite.size, files.length)
  for (const file of measuring) assert.isTrue(existsSync(file), file)
  assert.deepStrictEqual(
    measuring.flatMap((file) => (suite.has(file) ? [`${suite.get(file)} reaches ${file}`] : [])),
    []
  )
})

/** Why a file of the suite may read this clock. It bounds nothing by it. */
const clockReaders: { readonly [file: string]: string } = {
  "test/runtime/jailedProcess.test.ts": "gives the product, which reads this clock, a time",
  "test/runtime/pathProxy.test.ts": "proves that a delay took no less than it should",
  "test/runtime/runnerChoice.test.ts": "gives the product, which reads this clock, a time",
  "test/suite.test.ts": "names it",
  "test/support/Service.ts": "tells measurements what a start took",
  "test/support/eventually.ts": "ends its wait",
  "test/support/pathProxy.ts": "delays what it passes on",
  "test/support/processState.ts": "compares the function itself",
  "test/support/upgrade/Load.ts": "tells what the requests of a load took",
  "test/support/watch.ts": "tells measurements when a message came"
}

it("no test reads the clock of measurements, but for those that bound nothing by it", () => {
  const readers = [...suite.keys()].filter((file) => readFileSync(file, "utf8").includes("performance.now"))
  assert.deepStrictEqual(readers.toSorted(), Object.keys(clockReaders).toSorted())
})

it("no test bounds what the clock says from above", () => {
  const bound =
    /(?:isBelow|isAtMost|toBeLessThan\w*)\(.*\bDate\.now\(\)|\bDate\.now\(\).*(?:isBelow|isAtMost|toBeLessThan)|(?:assert|expect)\b.*\bDate\.now\(\)[^<]*<=? *[\w(]/
  const bounding = [...suite.keys()]
    .filter((file) => file !== "test/suite.test.ts")
    .flatMap((file) =>
      readFileSync(file, "utf8")
        .split("\n")
        .flatMap((line) => (bound.test(line) ? [`${file}: ${line.trim()}`] : []))
    )
  assert.deepStrictEqual(bounding, [])
})

/** Why a file of the suite may bound numbers of such a name. */
const bounders: { readonly [file: string]: string } = {
  "test/actors/runs.test.ts": "sets the clock itself",
  "test/domain/connectors/quickbooks.test.ts": "compares settings"
}

it("no test bounds what something took, in whatever unit", () => {
  const bounding = filesWith(/(?:isBelow|isAtMost|toBeLessThan\w*)\(.*(?:Millis|Seconds|Ms|ratios?)\b[^,]*, [\d_]+/)
  assert.deepStrictEqual(bounding.toSorted(), Object.keys(bounders))
})

/** Why a file of the suite may read the memory of a process. It bounds nothing by it. */
const memoryReaders: { readonly [file: string]: string } = {
  "test/runtime/sandboxMemory.test.ts": "waits until memory is given back",
  "test/suite.test.ts": "names it",
  "test/support/attacks.ts": "tells measurements what an attack took"
}

it("no test reads the memory of a process, but for those that bound nothing by it", () => {
  const readers = [...suite.keys()].filter((file) =>
    /memoryUsage|\bVm(?:RSS|HWM)\b|\/statm\b|\brss\b/.test(readFileSync(file, "utf8"))
  )
  assert.deepStrictEqual(readers.toSorted(), Object.keys(memoryReaders).toSorted())
})

/**
 * The limits that a file gives tests, hooks and layers without `scaled`, and waits of `eventually` that are no longer than its
 * patience. An hour is the limit of a long form.
 */
const limitsIn = (file: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true)
  const add = (node: ts.Node | undefined, most: number) => {
    if (node === undefined || !ts.isNumericLiteral(node)) return
    const millis = Number(node.text.replaceAll("_", ""))
    if (millis >= 1_000 && millis <= most) found.push(`${file}: ${millis}`)
  }
  const addOption = (option: ts.ObjectLiteralElementLike) => {
    if (!ts.isPropertyAssignment(option) || option.name.getText() !== "timeout") return
    const limit = option.initializer
    if (ts.isNumericLiteral(limit)) add(limit, 3_000_000)
    else if (!limit.getText().startsWith("scaled(")) found.push(`${file}: ${limit.getText()}`)
  }
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const called = node.expression.getText()
      if (/^(?:it|test|layer|beforeAll|beforeEach|afterAll|afterEach)\b/.test(called)) {
        if (node.arguments.length > 1) add(node.arguments.at(-1), 3_000_000)
        for (const one of node.arguments.filter(ts.isObjectLiteralExpression)) one.properties.forEach(addOption)
      }
      if (called === "eventually") add(node.arguments[2], 60_000)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

it("no test has a limit that a slow machine does not lengthen, or less patience than the others", () => {
  assert.deepStrictEqual(files.flatMap(limitsIn), [])
})
