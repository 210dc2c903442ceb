/**
 * Surface B decides about a request as surface C decides about its twin, and says so in its own error body: every endpoint,
 * with keys of others, narrowed, unpermitted, revoked and Test keys. A tenant's flows and executions.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { sharedOperations, surfaceB, surfaceC } from "../../src/http/operations/Surfaces.js"
import type { Answer, Running } from "../support/InProcess.js"
import { makeKey, makeScopedKey } from "../support/keys.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let other: Awaited<ReturnType<Running["organisation"]>>
/** The workflows of the first tenant, of the organisation and of another tenant. */
const flows = { own: "", shared: "", others: "" }
let otherTenant: string
const keys: { [kind: string]: string } = {}

const code = (text: string) => ({ form: "code", code: `export default async () => ${text}` })
const tenant = (path: string, tid: string = svc.first.customerId) => `/api/v1/tenants/${tid}${path}`
const headersOf = (key: string, spaceId: string = svc.first.spaceId) => ({
  "x-svc-api-key": key,
  "x-svc-space-id": spaceId
})
let addresses = 0
/** An address that no refused key has come from. */
const newAddress = () => `10.1.${(addresses += 1) >> 8}.${addresses & 255}`
const ask = (method: string, target: string, body?: object, key = svc.first.key) =>
  svc.ask(method, target, { headers: headersOf(key), ...(body === undefined ? {} : { body }) })

const made = async (answer: Promise<Answer>): Promise<string> => {
  const { body, status, text } = await answer
  assert.include([200, 201], status, text)
  return body.data.id ?? body.data.workflowId
}

beforeAll(async () => {
  svc = await startShared()
  other = await svc.organisation("Other")
  otherTenant = await made(svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Second" } }))
  flows.own = await made(ask("POST", tenant("/workflows"), { name: "own", ...code("'own'") }))
  flows.shared = await made(
    svc.ask("POST", "/api/v1/workflows", { key: svc.first.key, body: { name: "shared", ...code("'shared'") } })
  )
  flows.others = await made(ask("POST", tenant("/workflows", otherTenant), { name: "own", ...code("2") }))
  const revoked = await makeKey(svc, {})
  Object.assign(keys, {
    usual: svc.first.key,
    foreign: other.key,
    narrowed: (await makeScopedKey(svc, { workflow: [flows.others], environment: ["test"] })).key,
    unpermitted: (await makeKey(svc, { preset: "custom", permissions: { secrets: ["read"] } })).key,
    revoked: revoked.key,
    test: (await makeKey(svc, { mode: "test" })).key
  })
  await svc.ask("DELETE", `/api/v1/api-keys/${revoked.id}`, { key: svc.first.key })
})
afterAll(() => svc.stop())

/** The codes of surface B by status; its first detail has the code of surface C where that differs. */
const codes: { readonly [status: number]: string } = {
  400: "INVALID_REQUEST",
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "CONFLICT"
}
const verdictOf = ({ body, status }: Answer) => {
  if (status < 400) return { status }
  const mapped = status === 422 ? 400 : status
  const code = codes[mapped]
  const finer = body.code === code ? body.details[0]?.code : body.code
  return { status: mapped, code, finer }
}
const tenantVerdictOf = ({ body, status }: Answer) => {
  if (status < 400) return { status }
  assert.deepInclude(body, { statusCode: status, isCustomAuthError: false, step: "", datasourceDebug: null })
  return { status, code: body.code, finer: body.details[0]?.code }
}

const paramsOf: { readonly [name: string]: () => string } = {
  wid: () => flows.own,
  eid: () => "exec_00000000000000000000000000",
  env: () => "env_00000000000000000000000000",
  rel: () => "rel_00000000000000000000000000",
  evt: () => "evt_00000000000000000000000000",
  rpl: () => "rpl_00000000000000000000000000",
  dlq: () => "dlq_00000000000000000000000000",
  cred: () => "cred_00000000000000000000000000"
}
const filled = (path: string) =>
  path.replace(/:(\w+)/g, (_, name: string) => (name === "tid" ? svc.first.customerId : (paramsOf[name]?.() ?? "")))

const twinned = surfaceB.map((route) => ({
  ...route,
  twin: surfaceC.find(({ method, path }) => method === route.method && path === route.path.replace("/tenants/:tid", ""))
}))
const twins = twinned.map((one) => [`${one.method} ${one.path}`, one] as const)

/** How surface B refuses each kind of key, whatever is asked. */
const refusals: { readonly [kind: string]: number } = { foreign: 404, unpermitted: 403, revoked: 401, test: 403 }
const kinds = ["foreign", "narrowed", "unpermitted", "revoked", "test", "usual"]

describe.each(twins)("%s", (_, { example, method, path, permit, twin }) => {
  const send = (target: string, body: unknown, key: string, headers: Answer["headers"]) =>
    svc.ask(method, target, {
      key,
      from: newAddress(),
      headers,
      ...(example === undefined ? {} : { body })
    })

  it("is refused like its twin, in the words of its surface", async () => {
    for (const kind of kinds) {
      const key = keys[kind] ?? ""
      // What both would create or change once.
      if ((kind === "usual" || kind === "narrowed") && method !== "GET") continue
      const headers = headersOf(key, kind === "foreign" ? other.spaceId : svc.first.spaceId)
      const verdict = tenantVerdictOf(await send(filled(path), example, key, headers))
      const refusal = permit === "anyCaller" ? undefined : refusals[kind]
      if (refusal !== undefined) assert.strictEqual(verdict.status, refusal, kind)
      if (twin === undefined) continue
      const isOwned = method === "POST" && twin.name === "create"
      const body = isOwned ? { ...Object(example), customerId: svc.first.customerId } : example
      const answer = await send(filled(twin.path), body, key, { "x-end-org-id": svc.first.customerId })
      assert.deepStrictEqual(verdict, verdictOf(answer), `${kind}: ${answer.text}`)
    }
  })
})

/** The paths of surface B besides those of its tenants, of which the service has not all yet. Specification: Surface B. */
const pathsOfB = [
  "GET connectors",
  "POST connectors/discover",
  "POST mcp/tools",
  "GET mcp/resources",
  "POST ai/chat",
  "POST ai/generate",
  "POST ai/run",
  "POST agent-builder/builds",
  "GET agent-builder/builds/:build_id",
  "POST agent-builder/builds/:build_id/generate",
  "POST agent-builder/builds/:build_id/test",
  "POST agent-builder/builds/:build_id/deploy",
  "GET quota/usage",
  "GET quota/summary",
  "GET quota/daily",
  "GET config",
  "PUT config",
  "GET notifications",
  "POST notifications",
  "POST notifications/mark-read",
  "POST billing/subscribe",
  "GET billing/portal",
  "GET billing/usage",
  "POST organizations",
  "GET organizations",
  "POST api-access",
  "GET api-access"
]

it("every path of surface B that surface C serves is shared, and no other", () => {
  const named = ({ method, path }: { readonly method: string; readonly path: string }) =>
    `${method} ${path.replace("/api/v1/", "").replace(/:\w+/g, ":")}`
  const wanted = new Set(pathsOfB.map((one) => one.replace(/:\w+/g, ":")))
  assert.sameMembers(
    sharedOperations.map(named),
    surfaceC.map(named).filter((one) => wanted.has(one))
  )
})

it("a mistake in any body of a shared path is answered in the form of surface B", async () => {
  const sent = sharedOperations.filter(({ method }) => method !== "GET")
  assert.isNotEmpty(sent)
  for (const { method, path } of sent) {
    const { body, status, text } = await ask(method, path, { nonsense: 1 })
    assert.strictEqual(status, 400, `${method} ${path}: ${text}`)
    assert.deepInclude(body, { code: "INVALID_REQUEST", isCustomAuthError: false, step: "", datasourceDebug: null })
  }
})

describe.each(sharedOperations.map((one) => [`${one.method} ${one.path}`, one] as const))("%s", (_, route) => {
  it("answers requests with the headers of surface B in its form, and all others in that of C", async () => {
    const { example, method, path } = route
    for (const kind of ["unpermitted", "revoked", "test"]) {
      const key = keys[kind] ?? ""
      const body = example === undefined ? {} : { body: example }
      const ofB = await svc.ask(method, path, { ...body, from: newAddress(), headers: headersOf(key) })
      const ofC = await svc.ask(method, path, { ...body, from: newAddress(), headers: { "x-svc-api-key": key } })
      assert.notProperty(ofC.body, "isCustomAuthError")
      assert.deepStrictEqual(tenantVerdictOf(ofB), verdictOf(ofC), kind)
    }
  })
})

describe("A tenant's flows", () => {
  it("are its own and the organisation's, and of these it changes its own", async () => {
    const { data } = (await ask("GET", tenant("/workflows"))).body
    const listed = data.map(({ id }: { id: string }) => id)
    assert.includeMembers(listed, [flows.own, flows.shared])
    assert.notInclude(listed, flows.others)
    for (const [id, update, published] of [
      [flows.own, 200, 200],
      [flows.shared, 403, 403],
      [flows.others, 404, 404]
    ] as const) {
      const path = tenant(`/workflows/${id}`)
      const changed = await ask("PUT", path, { description: "changed" })
      assert.strictEqual(changed.status, update, changed.text)
      assert.strictEqual((await ask("POST", `${path}/publish`, {})).status, published)
      assert.strictEqual((await ask("GET", path)).status, update === 404 ? 404 : 200)
      if (update !== 200) assert.strictEqual((await ask("POST", `${path}/archive`)).status, update)
    }
    const shared = await ask("GET", `/api/v1/workflows/${flows.shared}`)
    assert.deepInclude(shared.body.data, { description: "", status: "draft", publishedVersion: null })
  })

  it("that are the organisation's say so when they are changed, and what to do, by a path and by a key of some", async () => {
    const subset = await makeKey(svc, { customers: { mode: "subset", ids: [svc.first.customerId] } })
    const path = tenant(`/workflows/${flows.shared}`)
    const why = async (method: string, target: string, body: object, key: string, finer: string, remedy: RegExp) => {
      const refused = await ask(method, target, body, key)
      assert.deepStrictEqual([refused.status, refused.body.details[0]?.code], [403, finer], refused.text)
      assert.match(refused.body.message, /^this workflow belongs to the organisation, and all its customers share it: /)
      assert.match(refused.body.message, remedy)
    }
    for (const [method, target, body] of [
      ["PUT", path, { description: "changed" }],
      ["POST", `${path}/publish`, {}],
      ["POST", `${path}/archive`, {}]
    ] as const) {
      await why(method, target, body, svc.first.key, "SHARED_RECORD", /leave \/tenants\/\{tid\} out of it/)
      await why(method, target, body, subset.key, "SUBSET_KEY", /this key is for some customers' data/)
    }
    const own = `/api/v1/workflows/${flows.shared}`
    await why("PUT", own, { description: "changed" }, subset.key, "SUBSET_KEY", /one that is for all of them/)
  })

  it("show triggers and deployments of the organisation, and none of another tenant", async () => {
    const key = svc.first.key
    const published = await svc.ask("POST", `/api/v1/workflows/${flows.shared}/publish`, { key, body: {} })
    assert.strictEqual(published.status, 200, published.text)
    const trigger = (customerId: string | null) =>
      made(
        svc.ask("POST", "/api/v1/triggers", {
          key,
          body: {
            type: "webhook",
            name: "t",
            customerId,
            routes: [{ workflowId: flows.shared, environment: "live" }]
          }
        })
      )
    const [ofAll, ofTenant] = [await trigger(null), await trigger(svc.first.customerId)]
    await trigger(otherTenant)
    const { data } = (await ask("GET", tenant(`/workflows/${flows.shared}`))).body
    assert.sameMembers(
      data.triggers.map(({ id }: { id: string }) => id),
      [ofAll, ofTenant]
    )
    assert.deepStrictEqual(
      data.deployments.map(({ customerId, environment, version }: { [member: string]: unknown }) => [
        environment,
        version,
        customerId
      ]),
      [["live", 1, null]]
    )
    assert.sameMembers(Object.keys(data.triggers[0]), ["id", "name", "type", "status", "customerId"])
  })
})

describe("A tenant's executions", () => {
  it("are the runs for it, with their steps, and no other's", async () => {
    const call = (tid: string, name: string) =>
      svc.ask("POST", `/api/v1/${name}`, {
        headers: { ...headersOf(svc.first.key), "x-svc-space-tenantid": tid },
        body: {}
      })
    const idOf = ({ headers }: Answer) => String(headers["x-svc-execution-id"])
    const [mine, theirs] = [await call(svc.first.customerId, "shared"), await call(otherTenant, "shared")]
    assert.deepStrictEqual([mine.status, theirs.status], [200, 200])
    const listed = await ask("GET", tenant("/executions"))
    assert.deepStrictEqual(
      listed.body.data.map(({ id }: { id: string }) => id),
      [idOf(mine)]
    )
    const read = await ask("GET", tenant(`/executions/${idOf(mine)}`))
    assert.deepInclude(read.body.data, { customerId: svc.first.customerId, output: "shared", steps: [] })
    for (const answer of [
      await ask("GET", tenant(`/executions/${idOf(theirs)}`)),
      await ask("POST", tenant(`/executions/${idOf(theirs)}/cancel`))
    ])
      assert.deepStrictEqual([answer.status, answer.body.code], [404, "NOT_FOUND"])
    const ended = await ask("POST", tenant(`/executions/${idOf(mine)}/cancel`))
    assert.deepStrictEqual(
      [ended.status, ended.body.code, ended.body.details[0].code],
      [409, "CONFLICT", "INVALID_STATE"]
    )
  })
})
