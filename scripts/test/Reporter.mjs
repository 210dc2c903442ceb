// A reporter of vitest: appends a line of JSON for each finished file to the file SVC_TEST_REPORT names, so that a run
// which is cut still names what failed before.
import { appendFileSync } from "node:fs"
import { relative } from "node:path"

const textOf = (error) => String(error?.message || error?.name || error)

/** The message of an error in one line: the log lines that a service should not have written are below its first one. */
const oneLine = (error) =>
  textOf(error)
    .split("\n")
    .map((line) => line.trim().slice(0, 1_000))
    .filter((line) => line !== "")
    .slice(0, 5)
    .join(" ⏎ ")

/** All texts of an error, also of those that it wraps. */
const textsOf = (error, depth = 0) =>
  typeof error === "string"
    ? [error]
    : error === null || typeof error !== "object" || depth > 8
      ? []
      : [
          ...[error.name, error.code, error.message, error.stack].filter((text) => typeof text === "string"),
          ...textsOf(error.cause, depth + 1),
          ...(Array.isArray(error.errors) ? error.errors.flatMap((one) => textsOf(one, depth + 1)) : [])
        ]

/** What `BrokenPromise` of test/support/promises.ts begins with. */
const isBroken = (error) => textsOf(error).some((text) => text.includes("BROKEN PROMISE:"))

/** The errors of a wait that ended, of a limit of a test, and of a lost connection. */
const waits = [
  /^not within \d+ ms/,
  /^(?:Test|Hook) timed out in/,
  /^it never came about/,
  /\b(?:ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|UND_ERR_\w+)\b/,
  /fetch failed|socket hang up|other side closed|Connection terminated|timeout exceeded when trying to connect/
]
const isWait = (error) => textsOf(error).some((text) => waits.some((pattern) => pattern.test(text)))

/** A failure as the report has it: `isBroken` and `isWait` decide whether its file runs again (`Reruns.mjs`). */
const failureOf = (test, errors) => ({
  test,
  error: oneLine(errors[0]),
  ...(errors.some(isBroken) ? { isBroken: true } : {}),
  ...(errors.length > 0 && errors.every(isWait) ? { isWait: true } : {})
})

/** Every failed test, group of tests (its hooks), and the file itself if it could not be loaded. */
const failuresOf = (module) => [
  ...module.errors().map((error) => failureOf("(the file)", [error])),
  ...[...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map((error) => failureOf(`${suite.fullName} (its hooks)`, [error]))
  ),
  ...[...module.children.allTests("failed")].map((test) => failureOf(test.fullName, test.result().errors ?? [])),
  ...[...module.children.allTests("pending")].map((test) => ({
    test: test.fullName,
    error: "it has no result",
    isWait: true
  }))
]

/**
 * A worker waits 60 s for the answer to each result that it sends, and then reports this error. The results arrive all
 * the same, late: a machine that stood still is no failure. A test whose result is lost is one (`failuresOf`).
 */
const isLateAnswer = (error) => textOf(error).startsWith('[vitest-worker]: Timeout calling "onTaskUpdate"')

const secondsOf = (module) => {
  const { collectDuration, duration, environmentSetupDuration, prepareDuration, setupDuration } = module.diagnostic()
  return (collectDuration + duration + environmentSetupDuration + prepareDuration + setupDuration) / 1000
}

export default class Reporter {
  #written = new Set()
  #write = (entry) => appendFileSync(process.env.SVC_TEST_REPORT, `${JSON.stringify(entry)}\n`)

  /** The files that are to run: the end of the run tells by them which have no result. */
  onTestRunStart(specifications) {
    const listed = specifications.map(({ moduleId, project }) => ({
      project: project.name,
      file: relative(process.cwd(), moduleId)
    }))
    this.#write({ file: "(the list)", seconds: 0, passed: 0, failures: [], listed })
  }

  onTestModuleEnd(module) {
    this.#written.add(module)
    this.#write({
      project: module.project.name,
      file: relative(process.cwd(), module.moduleId),
      seconds: secondsOf(module),
      passed: [...module.children.allTests("passed")].length,
      failures: failuresOf(module)
    })
  }

  onTestRunEnd(modules, errors) {
    // A file that could not be loaded has no end of its own.
    for (const module of modules) if (!this.#written.has(module)) this.onTestModuleEnd(module)
    for (const error of errors.filter((error) => !isLateAnswer(error))) {
      const failures = [{ test: "(outside a test)", error: oneLine(error) }]
      this.#write({ file: "(no file)", seconds: 0, passed: 0, failures })
    }
    this.#write({
      file: "(the run)",
      seconds: 0,
      passed: 0,
      failures: [],
      isEnd: true,
      late: errors.filter(isLateAnswer).length
    })
  }
}
