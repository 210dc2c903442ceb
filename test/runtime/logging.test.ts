/** Logs and exported telemetry of errors never quote a value of a tenant. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer, Logger, Option, Redacted } from "effect"
import { Client } from "pg"
import { inject } from "vitest"
import { SqlError } from "@effect/sql/SqlError"
import { Unavailable } from "../../src/domain/Failure.js"
import { databaseUnavailable } from "../../src/runtime/postgres/database/DatabaseUnavailable.js"
import { OperatorError } from "../../src/runtime/process/OperatorError.js"
import { withSafeErrors, prettyLogger } from "../../src/runtime/telemetry/Logging.js"
import { exporter } from "../../src/runtime/telemetry/Tracing.js"
import { startCollector } from "../support/collector.js"
import { announce } from "../support/LogExpectations.js"

announce(/test\.failed/)

const canary = "canary_4f1c"

/** The error that the body throws. */
const thrownBy = (body: () => unknown): unknown => {
  try {
    body()
  } catch (error) {
    return error
  }
  return assert.fail("nothing was thrown")
}

const logged = (effect: Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const json = Logger.map(withSafeErrors(Logger.jsonLogger), (line) => void lines.push(line))
    const text = Logger.map(withSafeErrors(Logger.logfmtLogger), (line) => void lines.push(line))
    const pretty = Logger.map(withSafeErrors(prettyLogger(false)), (line) => void lines.push(line))
    yield* Effect.provide(
      effect,
      Logger.replace(Logger.defaultLogger, Logger.zipLeft(Logger.zipLeft(json, text), pretty))
    )
    return lines.join("\n")
  })

/** The error as a cause, nested in another error, as a part of the message and as an annotation. */
const everyWay = (error: unknown) =>
  Effect.all([
    Effect.logWarning("test.failed", Cause.fail(error)),
    Effect.logWarning("test.failed", Cause.die(new Error(canary, { cause: error }))),
    Effect.logWarning("test.failed", Cause.parallel(Cause.die(error), Cause.fail({ _tag: "Lost", value: canary }))),
    Effect.logWarning("test.failed", error, { nested: [error] }),
    Effect.annotateLogs(Effect.logWarning("test.failed"), { error, nested: { error } })
  ])

describe("a log line", () => {
  let client: Client
  beforeAll(async () => {
    client = new Client({ connectionString: inject("postgres").admin })
    await client.connect()
    await client.query("CREATE TEMPORARY TABLE taken (name text CONSTRAINT taken_once UNIQUE)")
    await client.query("INSERT INTO taken VALUES ($1)", [canary])
  })
  afterAll(() => client.end())

  it.effect("has SQLSTATE and routine of an error of Postgres, and no value", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Effect.tryPromise({
          try: () => client.query("INSERT INTO taken VALUES ($1)", [canary]),
          catch: (cause) => cause
        })
      )
      assert.include(JSON.stringify(error), canary, "its detail quotes the value")
      const lines = yield* logged(everyWay(error))
      assert.notInclude(lines, canary)
      assert.include(lines, "DatabaseError: unique_violation (SQLSTATE 23505), routine _bt_check_unique")
      assert.notInclude(lines, "taken_once", "a table outside the service's schema is a tenant's")
    })
  )

  it.effect("of a failed statement is one line with its SQLSTATE and condition", () =>
    Effect.gen(function* () {
      const cause = yield* Effect.flip(
        Effect.tryPromise({ try: () => client.query(`SELECT 1 / (SELECT 0 AS "${canary}")`), catch: (error) => error })
      )
      const failure = new SqlError({ cause, message: canary })
      const lines = yield* logged(
        Effect.all([
          Effect.logWarning("test.failed", Cause.fail(failure)),
          Effect.logWarning("test.failed", Cause.fail(databaseUnavailable(failure))),
          Effect.logWarning("test.failed", Cause.fail(new SqlError({ cause: new Error("Connection terminated") })))
        ])
      )
      assert.notInclude(lines, canary)
      assert.notMatch(lines, /\\n +at /)
      assert.match(lines, /"SqlError: division_by_zero \(SQLSTATE 22012\), routine \w+"/)
      assert.include(lines, "Unavailable: the database did not execute a statement (SqlError: division_by_zero")
      assert.include(lines, "SqlError: Connection terminated")
    })
  )

  it.effect("names the violated constraint if it is the service's own", () =>
    Effect.gen(function* () {
      const error = Object.assign(new Error(canary), {
        code: "23503",
        schema: "public",
        table: "runs",
        constraint: "runs_org_fkey",
        detail: canary
      })
      const lines = yield* logged(everyWay(error))
      assert.notInclude(lines, canary)
      assert.include(lines, "Error: foreign_key_violation (SQLSTATE 23503), table runs, constraint runs_org_fkey")
    })
  )

  it.effect.each([
    ["the input of JSON.parse", "SyntaxError", () => JSON.parse(`{"a": ${canary}}`)],
    ["the source of a regular expression", "SyntaxError", () => new RegExp(`${canary}(`)],
    ["a message with a line like a frame", "Error", () => fail(`x\n    at ${canary} (file:///${canary}.js:1:1)`)],
    ["a name that a value has become", "Error", () => fail(canary, { name: canary })]
  ] as const)("omits %s, and has the kind and the place", ([, kind, body]) =>
    Effect.gen(function* () {
      const error = thrownBy(body)
      assert.include(String(error instanceof Error ? error.stack : ""), canary)
      const lines = yield* logged(everyWay(error))
      assert.notInclude(lines, canary)
      assert.include(lines, `${kind}: its message is not logged`)
      assert.match(lines, /at .*logging\.test\.ts:\d+:\d+/)
    })
  )

  it.effect("omits thrown values that are not errors", () =>
    Effect.gen(function* () {
      const thrown = { secret: Redacted.make(canary), value: canary, toString: () => canary }
      const lines = yield* logged(
        Effect.all([
          Effect.logWarning("test.failed", Cause.die(thrown)),
          Effect.logWarning("test.failed", Cause.die(canary)),
          everyWay({ _tag: "Busy", reason: canary })
        ])
      )
      assert.notInclude(lines, canary)
      assert.include(lines, "Busy: its message is not logged")
    })
  )

  it.effect("has the code of a system error, and not its address", () =>
    Effect.gen(function* () {
      const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${canary}`), {
        code: "ENOTFOUND",
        syscall: "getaddrinfo",
        hostname: canary
      })
      const lines = yield* logged(everyWay(error))
      assert.notInclude(lines, canary)
      assert.include(lines, "Error: ENOTFOUND of getaddrinfo")
    })
  )

  it.effect("keeps the text that the service wrote for its operator", () =>
    Effect.gen(function* () {
      const lines = yield* logged(
        Effect.all([
          everyWay(new OperatorError({ message: "Free the port." })),
          everyWay(new Unavailable({ reason: "the database cannot be reached", retryAfterSeconds: 1 }))
        ])
      )
      assert.include(lines, "Refusal: Free the port.")
      assert.include(lines, "Unavailable: the database cannot be reached")
    })
  )
})

it.live("exported logs and spans of a failure contain no value", () =>
  Effect.gen(function* () {
    const otlp = yield* Effect.acquireRelease(
      Effect.promise(() => startCollector()),
      ({ close }) => Effect.promise(close)
    )
    const failing = Effect.zipRight(
      everyWay(new Error(canary)),
      Effect.die(new SyntaxError(canary, { cause: new Error(canary) }))
    )
    yield* Effect.exit(Effect.withSpan(failing, "failing")).pipe(
      Effect.provide(
        Layer.merge(
          exporter({ otlpUrl: Option.some(otlp.url), otlpHeaders: Option.none() }),
          Logger.replace(Logger.tracerLogger, withSafeErrors(Logger.tracerLogger))
        )
      )
    )
    assert.include(otlp.received("/v1/logs"), "Error: its message is not logged")
    assert.include(otlp.received("/v1/traces"), "SyntaxError")
    assert.notInclude(otlp.received(), canary)
  }).pipe(Effect.scoped)
)

const fail = (message: string, members: object = {}): never => {
  throw Object.assign(new Error(message), members)
}
