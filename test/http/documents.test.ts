import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import {
  CategoryConnectionRequired,
  ConnectionRequired,
  DatasourceFailed,
  type Failure,
  FlowFailed,
  InvalidState,
  Managed,
  NotFound,
  PlanLimitReached,
  ProviderFailed,
  ProviderTimedOut,
  QuotaExceeded,
  TimedOut
} from "../../src/domain/Failure.js"
import type { errorMembers } from "../../src/http/ErrorMembers.js"
import type { Route } from "../../src/http/pipeline/Routes.js"
import { type ErrorBody, failureReply } from "../../src/http/ErrorRows.js"
import { tenantFailureReply } from "../../src/http/tenant/ErrorRows.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import {
  sharedOperations,
  surfaceA,
  surfaceAStart,
  surfaceB,
  surfaceBStart,
  surfaceC,
  surfaceCStart
} from "../../src/http/operations/Surfaces.js"

let svc: Running
let documents: { readonly [name: string]: any } // oxlint-disable-line typescript/no-explicit-any
beforeAll(async () => {
  svc = await startShared()
  const read = async (path: string) => {
    const { body, status } = await svc.ask("GET", path)
    assert.strictEqual(status, 200)
    return body
  }
  documents = {
    a: await read("/api/v1/openapi/a.json"),
    b: await read("/api/v1/openapi/b.json"),
    c: await read("/api/v1/openapi/c.json"),
    embed: await read("/api/v1/openapi/embed.json"),
    all: await read("/api/v1/openapi.json")
  }
})
afterAll(() => svc.stop())

/** Outside the typed API: its senders have no key, and its bodies are theirs. */
const receiver = "/api/v1/clients/{client}/webhooks/{webhook}"
const inDocument = ({ path }: Route) => path.replace(/:(\w+)/g, "{$1}")
const surfaces: ReadonlyArray<readonly [string, ReadonlyArray<Route>]> = [
  ["a", [...surfaceAStart, ...surfaceA]],
  ["b", [...surfaceBStart, ...surfaceB, ...sharedOperations]],
  ["c", [...surfaceC, ...surfaceCStart]],
  ["all", [...surfaceAStart, ...surfaceA, ...surfaceBStart, ...surfaceB, ...surfaceC, ...surfaceCStart]]
]

const isOfTenants = (path: string): boolean => path.startsWith("/api/v1/tenants/") || path === "/api/v1/{flow_name}"

/** Every reference in a document. */
const references = (value: unknown): ReadonlyArray<string> =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([name, child]) =>
        name === "$ref" && typeof child === "string" ? [child] : references(child)
      )

/** Linters take an object with `default` and `type` for a schema, also in an example. */
const hasSchemaWithDefault = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  ((["default", "example"].some((name) => name in value) &&
    ["enum", "type", "format", "$ref", "properties", "items"].some((name) => name in value)) ||
    Object.values(value).some(hasSchemaWithDefault))

/** The answer that an operation refers to. */
// oxlint-disable-next-line typescript/no-explicit-any
const answerIn = (document: any, answer: any): any =>
  answer.$ref === undefined ? answer : document.components.responses[answer.$ref.split("/").at(-1)]

describe.each(surfaces)("the document %s", (name, routes) => {
  it("has exactly the endpoints of its surface", () => {
    const told = Object.entries(documents[name].paths).flatMap(([path, item]) =>
      Object.keys(item as object).map((method) => `${method.toUpperCase()} ${path}`)
    )
    const typed = routes.map((route) => `${route.method} ${inDocument(route)}`)
    const outside = name === "b" || name === "all" ? [`GET ${receiver}`, `POST ${receiver}`] : []
    assert.deepStrictEqual(told.sort(), [...typed, ...outside].sort())
  })

  it("is OpenAPI 3.1, resolves all its references, and has both ways to authenticate", () => {
    const document = documents[name]
    assert.strictEqual(document.openapi, "3.1.0")
    for (const reference of references(document)) {
      const [, , kind = "", name = ""] = reference.split("/")
      assert.property(document.components[kind], name)
    }
    assert.deepStrictEqual(document.security, [{ bearer: [] }, { apiKey: [] }])
    assert.deepInclude(document.components.securitySchemes.apiKey, { in: "header", name: "x-svc-api-key" })
    for (const [path, item] of Object.entries<object>(document.paths)) {
      for (const { responses, security } of Object.values(item)) {
        if (isOfTenants(path) || (name === "b" && path !== receiver)) {
          assert.deepStrictEqual(security, [{ apiKey: [], space: [] }], "a flow's own token is no key")
          assert.notProperty(responses, "422")
        } else if (path === receiver) assert.deepStrictEqual(security, [], "senders of webhooks have no key")
        else assert.isUndefined(security, "nothing is open to everybody")
      }
    }
  })

  it("has each error with the body of its surface", () => {
    const document = documents[name]
    for (const [path, item] of Object.entries<object>(document.paths)) {
      for (const { responses } of Object.values(item)) {
        const refused = Object.entries<any>(responses).filter(([status]) => Number(status) >= 400) // oxlint-disable-line typescript/no-explicit-any
        assert.isAbove(refused.length, path === receiver ? 5 : 8, path)
        for (const [status, refusal] of refused) {
          const { content } = answerIn(document, refusal)
          const { anyOf, $ref = anyOf?.[0].$ref } = content["application/json"].schema
          const { properties, required } = document.components.schemas[$ref.replace("#/components/schemas/", "")]
          assert.deepStrictEqual(properties.statusCode.enum, [Number(status)])
          const members = ["code", "statusCode", "message", "requestId", "retryable", "details"]
          const isTenant = name === "b" || path === receiver || isOfTenants(path)
          const own = isTenant ? ["isCustomAuthError", "step", "datasourceDebug"] : []
          const always = { 408: ["executionId"], 502: ["provider"], 504: ["provider"] }[status] ?? []
          assert.deepStrictEqual(required, [...members, ...own, ...always])
        }
      }
    }
  })

  it("describes everything", () => {
    const document = documents[name]
    const sentence = /^[A-Z`].*[.]$/s
    for (const { description } of document.tags) assert.match(description, sentence)
    for (const item of Object.values<object>(document.paths)) {
      for (const operation of Object.values(item)) {
        const { description, operationId, parameters, requestBody, responses, summary } = operation
        assert.match(summary, /^[A-Z].*[^.]$/, operationId)
        assert.match(description, sentence, operationId)
        for (const parameter of parameters) {
          const { $ref, ...told } = parameter
          const named = $ref === undefined ? told : document.components.parameters[$ref.split("/").at(-1)]
          assert.match(named.description, sentence, `${operationId} ${named.name}`)
        }
        for (const answer of Object.values(responses))
          assert.match(answerIn(document, answer).description, sentence, operationId)
        for (const one of Object.values<{ schema: object }>(requestBody?.content ?? {}))
          if (Object.keys(one.schema).length > 0) assert.property(one, "example", operationId)
      }
    }
  })

  it("has the headers that its operations read and send", () => {
    const { paths } = documents[name]
    const read = (path: string, method: string) =>
      paths[path]?.[method].parameters.map(({ $ref = "" }: { $ref?: string }) => $ref.split("/").at(-1))
    const answered = (path: string, method: string, status: string) =>
      Object.keys(answerIn(documents[name], paths[path]?.[method].responses[status]).headers)
    const execute = "/api/v1/workflows/{workflowId}/execute"
    if (execute in paths) {
      const headers = ["IdempotencyKey", "UserId", "InstallationId", "EndOrgId", "Environment"]
      assert.includeMembers(read(execute, "post"), headers)
      assert.includeMembers(answered(execute, "post", "200"), ["x-request-id", "x-svc-execution-id"])
      assert.includeMembers(answered(execute, "post", "429"), ["retry-after", "x-ratelimit-remaining"])
    }
    const customer = "/api/v1/customers/{cid}"
    if (customer in paths) {
      assert.includeMembers(read(customer, "put"), ["IfMatch", "IdempotencyKey"])
      assert.include(answered(customer, "get", "200"), "etag")
      assert.include(answered("/api/v1/customers", "post", "201"), "location")
    }
  })

  it("names who is asked, and of every operation what a success is", () => {
    const document = documents[name]
    assert.isAbove(document.info.contact.name.length, 0)
    for (const item of Object.values<object>(document.paths))
      for (const { operationId, responses } of Object.values(item))
        assert.isTrue(
          Object.keys(responses).some((status) => /^[23](?:\d\d|XX)$/.test(status)),
          operationId
        )
  })

  it("has numbers for numbers, and examples that no tool reads as schemas", () => {
    const document = documents[name]
    for (const item of Object.values<object>(document.paths))
      for (const { operationId, parameters, requestBody } of Object.values(item)) {
        for (const { name: parameter, schema } of parameters)
          if (parameter === "page_size") assert.deepStrictEqual(schema, { type: "integer", minimum: 1, maximum: 200 })
        for (const { example } of Object.values<{ example?: unknown }>(requestBody?.content ?? {}))
          assert.isFalse(hasSchemaWithDefault(example), operationId)
      }
  })

  it("has no error body except the service's own", () => {
    assert.notInclude(JSON.stringify(documents[name]), "HttpApiDecodeError")
  })
})

/** A failure of each kind with members of its own. */
const telling: { readonly [Tag in keyof typeof errorMembers]: Failure } = {
  PlanLimitReached: new PlanLimitReached({ dimension: "workflows", limit: 1, used: 1 }),
  QuotaExceeded: new QuotaExceeded({ dimension: "events_per_day", limit: 1, used: 1, resetAt: 86_400 }),
  Managed: new Managed({ managedBy: { kind: "workflow", id: "wf_1" }, message: "change it there" }),
  InvalidState: new InvalidState({ state: "archived", message: "it is archived" }),
  TimedOut: new TimedOut({ executionId: "exe_1" }),
  FlowFailed: new FlowFailed({ executionId: "exe_1", message: "it broke", step: "send", reason: "TypeError" }),
  DatasourceFailed: new DatasourceFailed({
    executionId: "exe_1",
    message: "it refused",
    step: "send",
    reason: "PROVIDER_ERROR",
    action: "sendMessage",
    answer: { ok: false }
  }),
  CategoryConnectionRequired: new CategoryConnectionRequired({ category: "crm", message: "connect one" }),
  ConnectionRequired: new ConnectionRequired({ connector: "shopify", message: "connect first" }),
  ProviderFailed: new ProviderFailed({ connector: "shopify", status: 500, body: { a: 1 }, message: "it failed" }),
  ProviderTimedOut: new ProviderTimedOut({ connector: "shopify", message: "it slept" })
}

const flowTags = new Set(["FlowFailed", "DatasourceFailed"])
const failsInFlows = new Set(["INTERNAL_ERROR", "DATASOURCE_CONNECTION_ERROR"])

describe.each([
  ["c", failureReply, (body: ErrorBody) => body.code],
  ["b", tenantFailureReply, (body: ErrorBody) => (failsInFlows.has(body.code) ? body.code : body.details[0]?.code)]
] as const)("the document %s tells every member of an error and when it is there", (name, answer, finer) => {
  // Only surface B tells how a flow failed.
  const told = Object.entries(telling).filter(([tag]) => name === "b" || !flowTags.has(tag))
  it.each(told)("%s", (_, failure) => {
    const body: ErrorBody = JSON.parse(String(answer(failure, "req_1", 0).body))
    const schemas: ReadonlyArray<any> = Object.values(documents[name].components.schemas) // oxlint-disable-line typescript/no-explicit-any
    const [schema, ...others] = schemas.filter(({ properties }) => properties?.statusCode?.enum[0] === body.statusCode)
    assert.isEmpty(others)
    const shared = Object.keys(schema.properties).filter((member) => schema.required.includes(member))
    assert.includeMembers(Object.keys(body), shared)
    const { body: plain } = answer(new NotFound({ what: "x" }), "req_1", 0)
    const more = Object.keys(body).filter((member) => !(member in JSON.parse(String(plain))))
    assert.lengthOf(more, 1)
    for (const member of more) {
      assert.property(schema.properties, member)
      if (!schema.required.includes(member)) assert.include(schema.properties[member].description, finer(body))
    }
  })
})

describe("the document of surface B", () => {
  it("describes refusals as callers get them", async () => {
    const refused = await svc.ask("GET", `/api/v1/tenants/${svc.first.customerId}/credentials`, {
      headers: { "x-svc-api-key": svc.first.key }
    })
    const { properties, required } = documents["b"].components.schemas.TenantBadRequest
    assert.sameMembers(Object.keys(refused.body), required)
    assert.include(properties.code.description, refused.body.code)
  })
})

describe("the thin route and its document", () => {
  const statusesOf = (action: "execute" | "run") =>
    Object.keys(documents["all"].paths[`/api/v1/workflows/{workflowId}/${action}`].post.responses).map(Number)

  const publish = async (body: object) => {
    const made = await svc.ask("POST", "/api/v1/workflows", { key: svc.first.key, body: { form: "code", ...body } })
    assert.strictEqual(made.status, 201, made.text)
    const published = await svc.ask("POST", `/api/v1/workflows/${made.body.data.id}/publish`, {
      key: svc.first.key,
      body: {}
    })
    assert.strictEqual(published.status, 200, published.text)
    return made.body.data.id as string
  }

  it.each(["execute", "run"] as const)("answer %s with the same statuses, whatever is sent", async (action) => {
    const key = svc.first.key
    const long = await publish({
      name: `long_${action}`,
      tier: "standard",
      code: "export default async function f() { return 1 }"
    })
    const instant = svc.first.workflowId
    const limited = await svc.ask("POST", "/api/v1/api-keys", {
      key,
      body: { name: "one", mode: "live", preset: "full_access", rateLimitPerMinute: 1 }
    })
    const viewer = await svc.ask("POST", "/api/v1/api-keys", { key, body: { name: "none", mode: "live" } })
    const ask = (workflow: string, more: object) =>
      svc.ask("POST", `/api/v1/workflows/${workflow}/${action}`, { key, body: { input: {} }, ...more })
    const draft = await svc.ask("POST", "/api/v1/workflows", {
      key,
      body: { name: `draft_${action}`, form: "code", code: "export default async function f() {}" }
    })
    // Two are admitted if the minute changes meanwhile.
    const refused = async () => {
      for (let n = 0; n < 2; n++) await ask(instant, { key: limited.body.data.key })
      return await ask(instant, { key: limited.body.data.key })
    }

    const answers = [
      await ask(instant, {}),
      await ask(long, {}),
      await ask(instant, { body: undefined, raw: "{", headers: { "content-type": "application/json" } }),
      await ask(instant, { key: `svk_live_${"A".repeat(43)}` }),
      await ask(instant, { key: viewer.body.data.key }),
      await ask("wf_000000000000", {}),
      await ask("nonsense", {}),
      await ask(draft.body.data.id, {}),
      await ask(instant, { body: { input: { a: "x".repeat(3_000_000) } } }),
      await ask(instant, { body: undefined, raw: "{}", headers: { "content-type": "text/plain" } }),
      await ask(instant, { body: { surprise: 1 } }),
      await refused()
    ]
    assert.deepStrictEqual(
      answers.map(({ status }) => status),
      [200, 202, 400, 401, 403, 404, 404, 409, 413, 415, 422, 429]
    )
    const told = statusesOf(action)
    for (const { status } of answers) assert.include(told, status)
    assert.includeMembers(told, [408, 503])
    assert.deepStrictEqual(Object.keys(answers[1]?.body).sort(), ["callback", "executionId", "status", "tier"])
  })
})

describe("the document of embed sessions", () => {
  it("has what they may call, with their tokens, and no more", () => {
    const { components, paths, security } = documents["embed"]
    const told = Object.entries<object>(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`)
    )
    const open = [...surfaceCStart, ...surfaceC].filter(({ sessions }) => sessions !== undefined)
    assert.sameMembers(
      told,
      open.map((route) => `${route.method} ${inDocument(route)}`)
    )
    assert.deepStrictEqual([security, Object.keys(components.securitySchemes)], [[{ embed: [] }], ["embed"]])
    for (const reference of references(documents["embed"])) {
      const [, , kind = "", name = ""] = reference.split("/")
      assert.property(components[kind], name)
    }
  })
})

describe("the page of the documents", () => {
  it("needs no key and no external resources", async () => {
    const { headers, status, text } = await svc.ask("GET", "/docs")
    assert.deepStrictEqual([status, headers["content-type"]], [200, "text/html; charset=utf-8"])
    assert.notMatch(text.slice(0, 2_000), /<script[^>]+src=/)
    assert.notInclude(text.slice(-2_000), "cdn.")
    assert.include(text, "/api/v1/secrets/{sid}/value")
    const missing = await svc.ask("GET", "/docs/nothing")
    assert.deepStrictEqual([missing.status, missing.body.code], [404, "NOT_FOUND"])
  })

  it("accepts GET only", async () => {
    const { body, status } = await svc.ask("POST", "/docs")
    assert.deepStrictEqual([status, body.code], [405, "METHOD_NOT_ALLOWED"])
  })
})
