/** Every refusal has the form of the surface that was asked, also where no endpoint is found. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Unavailable } from "../../src/domain/Failure.js"
import { webhookFailureReply } from "../../src/http/tenant/ErrorRows.js"
import { bodyBytes } from "../../src/domain/Limits.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let base: string
beforeAll(async () => {
  svc = await startShared()
  base = (await svc.listen()).baseUrl
})
afterAll(() => svc.stop())

const shared = ["code", "statusCode", "message", "requestId", "retryable", "details"]
const ofTenants = [...shared, "isCustomAuthError", "step", "datasourceDebug"]

/** The headers of surface B: a key and a workspace. */
const tenantHeaders = () => ({ "x-svc-api-key": svc.first.key, "x-svc-space-id": svc.first.spaceId })
const text = { raw: "a=1", headers: { "content-type": "text/plain" } }
const large = { raw: `"${"x".repeat(bodyBytes.management)}"`, headers: { "content-type": "application/json" } }

interface Sent {
  readonly raw?: string
  readonly headers?: { readonly [name: string]: string }
}

const ask = async (method: string, path: string, { headers = {}, raw }: Sent, asTenant: boolean) => {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { ...headers, ...(asTenant ? tenantHeaders() : { "x-svc-api-key": svc.first.key }) },
    ...(raw === undefined ? {} : { body: raw })
  })
  const text = await response.text()
  return { status: response.status, text, body: JSON.parse(text), requestId: response.headers.get("x-request-id") }
}

const tenants = () => `/api/v1/tenants/${svc.first.customerId}/credentials`
const receiver = () => `/api/v1/clients/${svc.first.spaceId}/webhooks/whk_000000000000`

/** The request, whether it has the headers of surface B, the status, and whether the answer has that surface's form. */
const refusals: ReadonlyArray<
  readonly [
    name: string,
    method: string,
    path: () => string,
    more: Sent,
    asTenant: boolean,
    status: number,
    form: boolean
  ]
> = [
  ["an unknown path", "GET", () => "/api/v1/nothing/here", {}, false, 404, false],
  ["an unknown path with surface B's headers", "GET", () => "/api/v1/nothing/here", {}, true, 404, true],
  ["an unknown path outside the API with surface B's headers", "POST", () => "/nothing", {}, true, 404, true],
  ["an unknown path of tenants", "GET", () => `${tenants()}/a/b/c`, {}, false, 404, true],
  ["the path of all tenants", "GET", () => "/api/v1/tenants", {}, false, 404, true],
  ["an unknown path of clients", "POST", () => "/api/v1/clients/sp_1/webhook", {}, false, 404, true],
  ["an unknown webhook", "POST", receiver, {}, false, 404, true],
  ["an unknown method", "DELETE", () => "/api/v1/customers", {}, false, 405, false],
  [
    "an unknown method of a path of management, with surface B's headers",
    "DELETE",
    () => "/api/v1/customers",
    {},
    true,
    405,
    false
  ],
  ["an unknown method of tenants", "DELETE", tenants, {}, true, 405, true],
  ["an unknown method of a webhook", "PUT", receiver, {}, false, 405, true],
  [
    "an unknown method of a run",
    "PUT",
    () => `/api/v1/workflows/${svc.first.workflowId}/execute`,
    {},
    false,
    405,
    false
  ],
  ["another content type", "POST", () => "/api/v1/customers", text, false, 415, false],
  [
    "another content type of a run",
    "POST",
    () => `/api/v1/workflows/${svc.first.workflowId}/execute`,
    text,
    false,
    415,
    false
  ],
  ["another content type of tenants", "POST", tenants, text, true, 415, true],
  ["a large body", "POST", () => "/api/v1/customers", large, false, 413, false],
  ["a large body of tenants", "POST", tenants, large, true, 413, true],
  ["a large body at an unknown path with surface B's headers", "POST", () => "/nothing", large, true, 413, true]
]

describe("a refusal", () => {
  it.each(refusals)("of %s has its surface's form", async (_, method, path, more, asTenant, status, form) => {
    const answer = await ask(method, path(), more, asTenant)
    assert.strictEqual(answer.status, status, answer.text)
    assert.sameMembers(Object.keys(answer.body), form ? ofTenants : shared)
    assert.strictEqual(answer.body.statusCode, status)
    assert.strictEqual(answer.requestId ?? answer.body.requestId, answer.body.requestId)
  })

  it("of a webhook that is to be sent again has the code of the other surfaces, in its own form", () => {
    const away = new Unavailable({ reason: "the node stops", retryAfterSeconds: 2 })
    const { body, headers, status } = webhookFailureReply(away, "req_1", 0)
    assert.deepStrictEqual([status, headers["retry-after"]], [503, "2"])
    const told = JSON.parse(String(body))
    assert.sameMembers(Object.keys(told), ofTenants)
    assert.deepStrictEqual([told.code, told.retryable, told.details], ["UNAVAILABLE", true, []])
  })

  it("of an unknown path suggests one of its own surface", async () => {
    const path = `/api/v1/tenant/${svc.first.customerId}/credentials`
    const meant = (asTenant: boolean) => ask("GET", path, {}, asTenant).then(({ body }) => body.message)
    assert.include(await meant(true), "Did you mean /api/v1/tenants/{tid}/credentials?")
    assert.notInclude(await meant(false), "/api/v1/tenants/")
  })
})
