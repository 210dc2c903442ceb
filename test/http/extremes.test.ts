/**
 * No request causes an error of the service, whatever its scalars: extremes for every parameter and member of every
 * endpoint, generated from the OpenAPI documents, so that new fields are covered.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { documentText } from "../../src/http/Documents.js"
import { isObject, type Json, type JsonObject } from "../../src/domain/Json.js"
import { type Running, start } from "../support/InProcess.js"

const document: JsonObject = JSON.parse(documentText("all"))
const members = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
const listOf = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])

let svc: Running
/** The service's log during the requests. */
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

// --- Requests that are valid except for one place ---

const resolved = (schema: Json | undefined): JsonObject => {
  const found = members(schema)
  return found["$ref"] === undefined ? found : component("schemas", found["$ref"])
}

/** A value that fits the schema, or nearly. */
const ordinary = (schema: Json | undefined, depth = 0): Json => {
  const { anyOf, enum: choices, items, properties, required, type, minimum } = resolved(schema)
  const [choice] = listOf(choices)
  if (choice !== undefined) return choice
  const [first] = listOf(anyOf)
  if (first !== undefined) return ordinary(first, depth + 1)
  const kind = Array.isArray(type) ? "object" : type
  if (kind === "object" && depth < 6)
    return Object.fromEntries(
      listOf(required).map((name) => [name, ordinary(members(properties)[String(name)], depth + 1)])
    )
  if (kind === "array") return items === undefined || depth > 5 ? [] : [ordinary(items, depth + 1)]
  if (kind === "integer" || kind === "number") return typeof minimum === "number" ? minimum : 1
  if (kind === "boolean") return true
  return kind === "null" ? null : "abc"
}

type Path = ReadonlyArray<string>

/** The places of all members, also the optional ones. */
const places = (schema: Json | undefined, at: Path = [], depth = 0): ReadonlyArray<Path> => {
  const { anyOf, items, properties } = resolved(schema)
  if (depth > 4) return [at]
  return [
    at,
    ...listOf(anyOf).flatMap((one) => places(one, at, depth + 1).filter((path) => path.length > at.length)),
    ...Object.entries(members(properties)).flatMap(([name, child]) => places(child, [...at, name], depth + 1)),
    ...(items === undefined ? [] : places(items, [...at, "0"], depth + 1))
  ]
}

const withAt = (whole: Json, [name, ...rest]: Path, value: Json): Json => {
  if (name === undefined) return value
  if (name === "0") return [withAt(Array.isArray(whole) ? (whole[0] ?? {}) : {}, rest, value)]
  return { ...members(whole), [name]: withAt(members(whole)[name] ?? {}, rest, value) }
}

interface Operation {
  readonly method: string
  readonly path: string
  readonly parameters: ReadonlyArray<JsonObject>
  readonly body: Json | undefined
}

const component = (kind: string, reference: Json | undefined): JsonObject =>
  typeof reference === "string"
    ? members(members(members(document["components"])[kind])[reference.split("/").at(-1) ?? ""])
    : {}

/** Shared headers are read in one place, so one operation of each tag sends them. */
const sentWith = new Set<string>()
const parametersOf = (operation: JsonObject): ReadonlyArray<JsonObject> =>
  listOf(operation["parameters"])
    .map(members)
    .flatMap((parameter) => {
      const { $ref } = parameter
      if ($ref === undefined) return [parameter]
      const place = `${String($ref)} ${String(listOf(operation["tags"])[0])}`
      if (sentWith.has(place)) return []
      sentWith.add(place)
      return [component("parameters", $ref)]
    })

const operations: ReadonlyArray<Operation> = Object.entries(members(document["paths"])).flatMap(([path, item]) =>
  Object.entries(members(item)).map(([method, operation]) => {
    const content = members(members(members(operation)["requestBody"])["content"])
    return {
      method: method.toUpperCase(),
      path,
      parameters: parametersOf(members(operation)),
      body: members(content["application/json"])["schema"]
    }
  })
)

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
  const what = `${operation.method} ${target.slice(0, 200)} ${JSON.stringify(body ?? null).slice(0, 300)}`
  assert.isBelow(answer.status, 500, `${what}: ${answer.text}`)
}

/** A place in a body gets every number and a third of the other extremes; with SVC_TEST_LONG all of them. */
const isAll = process.env["SVC_TEST_LONG"] !== undefined
const valuesAt = (place: number): ReadonlyArray<Json> =>
  values.filter(
    (value, at) => isAll || typeof value === "number" || value === nul || value === lone || (at + place) % 3 === 0
  )

/** Sends a few requests at a time. */
const each = async (send: (value: Json) => Promise<void>, chosen = values) => {
  for (let at = 0; at < chosen.length; at += 16) await Promise.all(chosen.slice(at, at + 16).map(send))
}

/** Operations that affect the caller's own key or organisation are last. */
const isDeadly = ({ method, path }: Operation) => method === "DELETE" || path.endsWith("/rotate")

describe("no extreme in a scalar is an error of the service", () => {
  it("there are operations to ask", () => assert.isAbove(operations.length, 60))

  it.each(operations.filter((one) => !isDeadly(one)).map((one) => [`${one.method} ${one.path}`, one] as const))(
    "%s",
    async (_name, operation) => {
      const body = operation.body === undefined ? undefined : ordinary(operation.body)
      for (const { in: place, name } of operation.parameters) {
        await each((value) => {
          if (place === "path") return ask(operation, targetOf(operation, [String(name), encoded(value)]), body)
          if (place === "query") return ask(operation, `${targetOf(operation)}?${String(name)}=${encoded(value)}`, body)
          return typeof value === "string" && /^[ -~]*$/.test(value)
            ? ask(operation, targetOf(operation), body, { [String(name)]: value })
            : Promise.resolve()
        })
      }
      const within = operation.body === undefined ? [] : places(operation.body)
      for (const [at, path] of within.entries())
        await each((value) => ask(operation, targetOf(operation), withAt(body ?? {}, path, value)), valuesAt(at))
      const long = `${targetOf(operation)}?x=${"y".repeat(9_000)}`
      await ask(operation, long, body, { "idempotency-key": `long-${operation.method}${operation.path}` })
      assert.deepStrictEqual(logged, [])
    },
    60_000
  )

  it.each(operations.filter(isDeadly).map((one) => [`${one.method} ${one.path}`, one] as const))(
    "%s",
    async (_name, operation) => {
      for (const { in: place, name } of operation.parameters) {
        if (place !== "path") continue
        await each((value) => ask(operation, targetOf(operation, [String(name), encoded(value)]), undefined))
      }
      assert.deepStrictEqual(logged, [])
    },
    60_000
  )
})
