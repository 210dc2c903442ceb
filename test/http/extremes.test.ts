/**
 * No request causes an error of the service, whatever its scalars: extremes for every parameter and member of every
 * endpoint, generated from the OpenAPI documents, so that new fields are covered.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Json } from "../../src/domain/Json.js"
import {
  type Operation,
  operations,
  ordinary,
  places,
  schemaAt,
  takesNumbers,
  withAt
} from "../support/documentRequests.js"
import { type Running, start } from "../support/InProcess.js"
import { isLong } from "../support/longForm.js"

let svc: Running
/** What the service logged during the requests of one test; taken at its end, so that a line fails no later test. */
const logged: Array<string> = []
const write = console.log
beforeAll(async () => {
  svc = await start()
  console.log = (...parts: ReadonlyArray<unknown>) => void logged.push(parts.map(String).join(" "))
})
afterAll(async () => {
  console.log = write
  await svc.stop()
})

// --- Extremes ---

const nul = "\u0000"
const lone = "\ud800"
const texts: ReadonlyArray<string> = [
  "",
  " ",
  nul,
  `'a${nul}'`,
  lone,
  "a".repeat(3_000),
  "\u65e5\u672c\u8a9e",
  "\u202e\u0301\ufeff",
  "%",
  "\\",
  "%00",
  "../..",
  "__proto__",
  "constructor",
  "0000-01-01T00:00:00Z",
  "99999-01-01T00:00:00Z",
  "+275760-09-13T00:00:00Z",
  "9999-12-31T23:59:59.999-23:59",
  "1e400",
  "-0",
  "NaN",
  "9223372036854775808",
  "2026-11-21",
  "ref:",
  "cus_",
  `cus_${"z".repeat(26)}`,
  "https://[::1",
  "javascript:alert(1)",
  "http://user:pw@127.0.0.1:99999/"
]
const numbers: ReadonlyArray<number> = [
  0,
  -1,
  0.5,
  1e300,
  -1e300,
  2 ** 31,
  2 ** 40,
  2 ** 53,
  Number.MAX_SAFE_INTEGER,
  5e-324,
  -0
]
const others: ReadonlyArray<Json> = [null, true, [], {}, [[]], [null], { "": null }, { constructor: {} }]
const nested = (levels: number): Json => (levels === 0 ? 1 : { a: nested(levels - 1) })
const values: ReadonlyArray<Json> = [...texts, ...numbers, ...others, nested(63), nested(64)]

/** Existing ids, so that requests do not end in a 404. */
const idOf = (name: string): string =>
  ({
    cid: svc.first.customerId,
    tid: svc.first.customerId,
    wid: svc.first.workflowId,
    workflowId: svc.first.workflowId
  })[name] ?? "1"

const targetOf = ({ path }: Operation, extreme?: readonly [string, string]): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => (extreme?.[0] === name ? extreme[1] : idOf(name)))

const encoded = (value: Json) => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return encodeURIComponent(text.toWellFormed())
}

const ask = async (operation: Operation, target: string, body: Json | undefined, headers: object = {}) => {
  const answer = await svc.ask(operation.method, target, {
    ...(body === undefined ? {} : { raw: JSON.stringify(body) }),
    headers: {
      "content-type": "application/json",
      "x-svc-api-key": svc.first.key,
      "x-svc-space-id": svc.first.spaceId,
      ...headers
    }
  })
  if (answer.status < 500) return
  const what = `${operation.method} ${target.slice(0, 200)} ${JSON.stringify(body ?? null).slice(0, 300)}`
  assert.fail(`${answer.status} to ${what}: ${answer.text}`)
}

/**
 * A parameter or member gets a quarter of the extremes, and every number where it takes numbers; with SVC_TEST_LONG all of
 * them.
 */
const valuesAt = (place: number, schemas: ReadonlyArray<Json | undefined>): ReadonlyArray<Json> => {
  const isNumber = schemas.some(takesNumbers)
  const isAlways = (value: Json) => value === nul || value === lone || (isNumber && typeof value === "number")
  return values.filter((value, at) => isLong || isAlways(value) || (at + place) % 4 === 0)
}

/** Sends a few requests at a time. */
const each = async (send: (value: Json) => Promise<void>, chosen = values) => {
  for (let at = 0; at < chosen.length; at += 16) await Promise.all(chosen.slice(at, at + 16).map(send))
}

/** Operations that affect the caller's own key or organisation are last. */
const isDeadly = ({ method, path }: Operation) => method === "DELETE" || path.endsWith("/rotate")

/** Operations that read the whole audit trail come first: what the others do makes it long. */
const isAboutAudit = ({ path }: Operation) => path.startsWith("/api/v1/audit")
const harmless = operations.filter((one) => !isDeadly(one))
const inOrder = [...harmless.filter(isAboutAudit), ...harmless.filter((one) => !isAboutAudit(one))]

describe("no extreme in a scalar is an error of the service", () => {
  it("there are operations to ask", () => assert.isAbove(operations.length, 60))

  it.each(inOrder.map((one) => [`${one.method} ${one.path}`, one] as const))("%s", async (_name, operation) => {
    const body = operation.body === undefined ? undefined : ordinary(operation.body)
    for (const [at, { in: place, name, schema }] of operation.parameters.entries()) {
      await each(
        (value) => {
          if (place === "path") return ask(operation, targetOf(operation, [String(name), encoded(value)]), body)
          if (place === "query") return ask(operation, `${targetOf(operation)}?${String(name)}=${encoded(value)}`, body)
          return typeof value === "string" && /^[ -~]*$/.test(value)
            ? ask(operation, targetOf(operation), body, { [String(name)]: value })
            : Promise.resolve()
        },
        valuesAt(at, [schema])
      )
    }
    const within = operation.body === undefined ? [] : places(operation.body)
    for (const [at, path] of within.entries())
      await each(
        (value) => ask(operation, targetOf(operation), withAt(body ?? {}, path, value)),
        valuesAt(at, schemaAt(operation.body, path))
      )
    const long = `${targetOf(operation)}?x=${"y".repeat(9_000)}`
    await ask(operation, long, body, { "idempotency-key": `long-${operation.method}${operation.path}` })
    assert.deepStrictEqual(logged.splice(0), [])
  })

  it.each(operations.filter(isDeadly).map((one) => [`${one.method} ${one.path}`, one] as const))(
    "%s",
    async (_name, operation) => {
      for (const { in: place, name } of operation.parameters) {
        if (place !== "path") continue
        await each((value) => ask(operation, targetOf(operation, [String(name), encoded(value)]), undefined))
      }
      assert.deepStrictEqual(logged.splice(0), [])
    }
  )
})
