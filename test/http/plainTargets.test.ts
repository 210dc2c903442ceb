/** What the service sends by itself goes to https:// only, unless the operator's networks cover the server. */
import { assert, describe, it } from "@effect/vitest"
import { type Running, start } from "../support/InProcess.js"

/** Public addresses of documentation networks lead nowhere, so these are real ones; nothing is sent to them. */
const plain = ["http://93.184.215.14/hook", "http://93.184.215.14:8080/hook", "http://[2606:2800:21f:cb07::1]/hook"]
const safe = "https://93.184.215.14/hook"
const local = "http://127.0.0.1:9/hook"

type Place = readonly [name: string, path: string, ask: (svc: Running, url: string) => Promise<number | string>]

const request = async (svc: Running, method: string, path: string, body: object, headers = {}) => {
  const answer = await svc.ask(method, `/api/v1${path}`, { key: svc.first.key, body, headers })
  const detail = answer.body?.details?.[0]
  return answer.status < 300 ? answer.status : `${answer.status} ${detail?.path} ${detail?.code}`
}

const standard = { form: "code", tier: "standard", code: "export default async () => 1" }
let names = 0
const workflowOf = async (svc: Running): Promise<string> => {
  const body = { name: `flow${(names += 1)}`, ...standard }
  const { id } = (await svc.ask("POST", "/api/v1/workflows", { key: svc.first.key, body })).body.data
  await svc.ask("POST", `/api/v1/workflows/${id}/publish`, { key: svc.first.key, body: {} })
  return id
}
const targets = (svc: Running, value: object) =>
  request(svc, "PUT", "/config", { level: "saas", scopeId: null, key: "notifications", value })

const places: ReadonlyArray<Place> = [
  ["an endpoint", "url", (svc, url) => request(svc, "POST", "/webhook-endpoints", { url, events: ["key.expiring"] })],
  [
    "a workflow's callback",
    "callbackUrl",
    (svc, url) => request(svc, "POST", "/workflows", { name: `w${(names += 1)}`, ...standard, callbackUrl: url })
  ],
  [
    "a start's callback",
    "callback.url",
    async (svc, url) => request(svc, "POST", `/workflows/${await workflowOf(svc)}/execute`, { callback: { url } })
  ],
  [
    "a start's callback in a header",
    "callback.url",
    async (svc, url) =>
      request(svc, "POST", `/workflows/${await workflowOf(svc)}/execute`, {}, { "x-svc-callback-url": url })
  ],
  ["a chat", "value.teamChat.0", (svc, url) => targets(svc, { teamChat: [url] })],
  ["a webhook of notifications", "value.webhook.1", (svc, url) => targets(svc, { webhook: [safe, url] })]
]

const withService = async (env: Readonly<Record<string, string>>, use: (svc: Running) => Promise<void>) => {
  const svc = await start(env)
  try {
    await use(svc)
  } finally {
    await svc.stop()
  }
}

describe("an address without TLS", () => {
  it("is refused everywhere if it is public, and taken where the operator's networks cover it", () =>
    withService({ SVC_EGRESS_ALLOW: "127.0.0.1/32" }, async (svc) => {
      for (const [name, path, ask] of places) {
        for (const url of plain)
          assert.strictEqual(await ask(svc, url), `422 ${path} URL_NOT_ALLOWED`, `${name} at ${url}`)
        for (const url of [safe, local]) assert.isNumber(await ask(svc, url), `${name} at ${url}`)
      }
    }))

  it("is refused everywhere if the operator covers none", () =>
    withService({}, async (svc) => {
      for (const [name, path, ask] of places) {
        for (const url of [plain[0] ?? "", local, "http://example.com/hook"])
          assert.strictEqual(await ask(svc, url), `422 ${path} URL_NOT_ALLOWED`, `${name} at ${url}`)
        assert.isNumber(await ask(svc, safe), name)
      }
    }))
})
