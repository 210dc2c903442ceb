/**
 * Setup of every test file: fails a test when a service logs a line of trouble that the test did not announce, and a file
 * that leaves changed what the files of its worker share.
 */
import { Logger, LogLevel } from "effect"
import { afterAll, afterEach, assert, beforeAll, beforeEach, inject } from "vitest"
import { withSafeErrors } from "../../src/runtime/telemetry/Logging.js"
import { beginTest, endScope, hear } from "./LogExpectations.js"
import { watchState } from "./processState.js"
import { promised } from "./promises.js"
import { beginFile } from "./sharing.js"
import { recordProcess } from "./TestRun.js"

/** Marks the loggers: the files of a worker share modules, and each runs this setup. */
const marked = Symbol.for("svc/test/loggers")

if (!(marked in Logger.tracerLogger)) {
  // Every fiber has this logger, also those of `it.effect`, which removes the default one. It therefore receives every
  // line logged in this process; test/support/Service.ts reads the lines of services in processes of their own.
  const { log } = Logger.tracerLogger
  const line = withSafeErrors(Logger.jsonLogger)
  Object.assign(Logger.tracerLogger, {
    [marked]: true,
    log: (entry: Logger.Logger.Options<unknown>) => {
      if (LogLevel.greaterThanEqual(entry.logLevel, LogLevel.Warning)) hear(line.log(entry))
      return log(entry)
    }
  })

  // As the service's own loggers, the tests' one shows an error by its kind, code and frames.
  const shown = Logger.withConsoleLog(withSafeErrors(Logger.logfmtLogger))
  Object.assign(Logger.defaultLogger, { log: shown.log })
}

// A worker outlives a run that breaks down.
recordProcess(inject("runDirectory"), process.pid)

// What the tests of the run write is removed at its end, also if it is killed.
process.env["TMPDIR"] = inject("runDirectory")

const changedState = watchState()

beforeAll(({ file }) => beginFile(file.filepath))
beforeEach(beginTest)
afterEach(() => endScope("test"))
// Registered first, this hook runs last: after the file's own hooks, which stop its services.
afterAll(() => {
  promised("a file leaves changed what the next files of its worker use", () =>
    assert.deepStrictEqual(changedState(), [])
  )
  return endScope("file")
})
