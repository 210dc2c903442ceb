/** Set up in every test file: lets a test fail when a service says something that the test did not announce. */
import { Logger, LogLevel } from "effect"
import { afterAll, afterEach, beforeEach } from "vitest"
import { withSafeErrors } from "../../src/runtime/telemetry/Logging.js"
import { beginTest, end, hear } from "./Heard.js"

// Every fiber has this logger, also those of `it.effect`, which removes the default one. So it hears everything that is
// logged in this process; services in processes of their own are heard by test/support/Service.ts.
const { log } = Logger.tracerLogger
const line = withSafeErrors(Logger.jsonLogger)
Object.assign(Logger.tracerLogger, {
  log: (entry: Logger.Logger.Options<unknown>) => {
    if (LogLevel.greaterThanEqual(entry.logLevel, LogLevel.Warning)) hear(line.log(entry))
    return log(entry)
  }
})

beforeEach(beginTest)
afterEach(() => end("test"))
// Registered first, it runs last: after the file's own, which stop its services.
afterAll(() => end("file"))
