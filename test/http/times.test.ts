/**
 * Every time that a request can send is RFC 3339, and any other text is refused by the name of its parameter or member,
 * whichever endpoint takes it: the places are read from the OpenAPI documents. So no time reaches a table or a background
 * task that cannot be cast there.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Json } from "../../src/domain/Json.js"
import { operations, ordinary, type Path, places, resolved, schemaAt, withAt } from "../support/documentRequests.js"
import { notTimes } from "../support/hostileTimes.js"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

const isTime = (schema: Json | undefined): boolean => {
  const { anyOf, format } = resolved(schema)
  return format === "date-time" || (Array.isArray(anyOf) && anyOf.some(isTime))
}

const pathText = (path: Path) => path.join(".").replaceAll(/\.0(?=\.|$)/g, "[0]")

const ask = (method: string, path: string, query: string, body: Json | undefined) =>
  svc.ask(method, `${path.replace(/\{\w+\}/g, svc.first.customerId)}${query}`, {
    ...(body === undefined ? {} : { raw: JSON.stringify(body) }),
    headers: {
      "content-type": "application/json",
      // With both headers of surface B, a path that surfaces share is refused in its form.
      ...(path.includes("/tenants/")
        ? { "x-svc-api-key": svc.first.key, "x-svc-space-id": svc.first.spaceId }
        : { authorization: `Bearer ${svc.first.key}` })
    }
  })

const queries = operations.flatMap(({ method, parameters, path }) =>
  parameters
    .filter((parameter) => parameter["in"] === "query" && isTime(parameter["schema"]))
    .map(
      (parameter) =>
        [`${method} ${path}?${String(parameter["name"])}`, method, path, String(parameter["name"])] as const
    )
)

const bodies = operations.flatMap(({ body, method, path }) =>
  body === undefined
    ? []
    : places(body)
        .filter((place) => schemaAt(body, place).some(isTime))
        .map((place) => [`${method} ${path} ${pathText(place)}`, method, path, place, body] as const)
)

const timeNames = /(?:At|After|Before)$|^(?:from|to|since|until|created_\w+)$/

describe("a time of a request", () => {
  it("is everywhere of the one schema", () => {
    assert.isAtLeast(queries.length, 60)
    assert.includeMembers(
      bodies.map(([name]) => name),
      [
        "POST /api/v1/dlq/replay filter.createdAfter",
        "POST /api/v1/events occurredAt",
        "POST /api/v1/triggers schedule.startsAt",
        "PUT /api/v1/triggers/{trg} schedule.startsAt",
        "POST /api/v1/api-keys expires",
        "POST /api/v1/notifications/mark-read before",
        "POST /api/v1/webhook-endpoints/{whe}/resend from"
      ]
    )
    const strays = operations.flatMap(({ body, method, parameters, path }) => [
      ...parameters
        .filter(({ in: place, name, schema }) => place === "query" && timeNames.test(String(name)) && !isTime(schema))
        .map(({ name }) => `${method} ${path}?${String(name)}`),
      // The maps of connectors, and overrides of them, have paths that are called from and to.
      ...(body === undefined || /connectors|field-maps/.test(path)
        ? []
        : places(body)
            .filter((place) => timeNames.test(place.at(-1) ?? ""))
            .filter((place) => schemaAt(body, place).some((schema) => !isTime(schema) && !resolved(schema)["readOnly"]))
            .map((place) => `${method} ${path} ${pathText(place)}`))
    ])
    assert.deepStrictEqual(strays, [])
  })

  it.each(queries)("%s is refused in any other form", async (_name, method, path, name) => {
    for (const text of notTimes.filter((one) => one !== "" && one !== "2026-11-21")) {
      const answer = await ask(method, path, `?${name}=${encodeURIComponent(text)}`, undefined)
      assert.deepStrictEqual([answer.status, answer.body.code], [400, "INVALID_REQUEST"], `${text}: ${answer.text}`)
      assert.include(answer.text, name)
    }
  })

  it.each(bodies)("%s is refused in any other form", async (_name, method, path, place, body) => {
    const isDay = pathText(place) === "expires"
    for (const text of notTimes.filter((one) => !(isDay && one === "2026-11-21"))) {
      const answer = await ask(method, path, "", withAt(ordinary(body), place, text))
      assert.strictEqual(answer.status, path.includes("/tenants/") ? 400 : 422, `${text}: ${answer.text}`)
      const paths: ReadonlyArray<string> = answer.body.details.map((detail: { readonly path: string }) => detail.path)
      assert.include(paths, pathText(place), `${text}: ${answer.text}`)
    }
  })
})
