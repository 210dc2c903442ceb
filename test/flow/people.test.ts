/** A run tells people by notifications, once for each call. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { type Receiver, startReceiver } from "../support/receiver.js"

let svc: Running
let receiver: Receiver
let flows = 0
beforeAll(async () => {
  receiver = await startReceiver()
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
}, 60_000)
afterAll(async () => {
  await svc.stop()
  await receiver.close()
})

const ask = async (method: string, target: string, body?: object, key = svc.first.key) => {
  const answer = await svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })
  assert.isBelow(answer.status, 300, `${method} ${target}: ${answer.text}`)
  return answer
}
/** Makes addresses of an organisation confirmed, as their owners would. */
const confirm = (organisation: string, ...addresses: ReadonlyArray<string>) =>
  svc.sql(`INSERT INTO mail_addresses (org, address, confirmed_at)
    SELECT '${organisation}', a, now() FROM unnest(ARRAY['${addresses.join("','")}']) a ON CONFLICT DO NOTHING`)
const published = async (body: object, key: string): Promise<string> => {
  const saved = await ask("POST", "/workflows", { name: `people_${++flows}`, ...body }, key)
  await ask("POST", `/workflows/${saved.body.data.id}/publish`, {}, key)
  return saved.body.data.id
}
const execute = (id: string, input: object, key: string) =>
  svc.ask("POST", `/api/v1/workflows/${id}/execute`, {
    key,
    body: { input },
    headers: { authorization: `Bearer ${key}` }
  })
const code = (body: string, tier = "instant") => ({
  form: "code",
  tier,
  code: `export default async (ctx) => { ${body} }`
})
const execution = async (id: string | undefined, key: string) =>
  (await ask("GET", `/executions/${id}`, undefined, key)).body.data
const ended = (id: string | undefined, key: string) =>
  eventually(
    () => execution(id, key),
    ({ status }) => status !== "running" && status !== "pending",
    15_000
  )
const notifications = async (key: string) => (await ask("GET", "/notifications", undefined, key)).body.data
/** The notifications, once none waits to be sent. */
const settled = (key: string, count: number) =>
  eventually(
    () => notifications(key),
    (found) => found.length >= count && found.every(({ status }: { readonly status: string }) => status !== "queued"),
    15_000
  )

describe("A run", () => {
  it("notifies by a step, to whom the step names or else the configuration", async () => {
    const other = await svc.organisation("Telling flow")
    const value = { webhook: [`${receiver.url}/told`] }
    await ask("PUT", "/config", { level: "saas", scopeId: null, key: "notifications", value }, other.key)
    await confirm(other.organisationId, "told@example.com")
    const tell = (name: string, config: object) => ({ name, type: "notification", config })
    const id = await published(
      {
        form: "steps",
        spec: {
          steps: [
            tell("inside", {
              channel: "in_app",
              to: "usr_1",
              subject: "{{input.order}} waits",
              body: "Look at {{input.order}}"
            }),
            tell("named", {
              channel: "team_chat",
              to: `${receiver.url}/room`,
              body: "{{input.order}}",
              severity: "warning"
            }),
            tell("configured", { channel: "webhook", body: "to all" }),
            tell("mailed", { channel: "email", to: "told@example.com", subject: "Order\n{{input.order}}", body: "x" })
          ]
        }
      },
      other.key
    )
    const answer = await execute(id, { order: "A-1 {{input.secret}}" }, other.key)
    assert.strictEqual(answer.status, 200, answer.text)
    const executionId = answer.headers["x-svc-execution-id"]
    const found = await settled(other.key, 4)
    assert.sameDeepMembers(
      found.map(({ channel, source, title }: { readonly [member: string]: unknown }) => ({ channel, source, title })),
      [
        { channel: "in_app", title: "A-1 {{input.secret}} waits" },
        { channel: "team_chat", title: "people_1" },
        { channel: "webhook", title: "people_1" },
        { channel: "email", title: "Order A-1 {{input.secret}}" }
      ].map((one) => ({ ...one, source: { type: "execution", id: executionId } }))
    )
    assert.deepInclude(JSON.parse(receiver.at("/room")[0]?.body ?? "{}"), {
      text: "[warning] people_1\nA-1 {{input.secret}}"
    })
    assert.strictEqual(JSON.parse(receiver.at("/told")[0]?.body ?? "{}").data.body, "to all")
    const { steps } = (await ask("GET", `/executions/${executionId}`, undefined, other.key)).body.data
    assert.deepInclude(
      steps.find((one: { readonly path: string }) => one.path === "inside"),
      { type: "notification", status: "completed" }
    )
  })

  it("notifies once, however often its journal is replayed", async () => {
    const other = await svc.organisation("Telling once")
    const id = await published(
      code(
        `await svc.notify({ channel: "in_app", subject: "once", body: "b" })
        await new Promise((r) => setTimeout(r, 1500))`,
        "standard"
      ),
      other.key
    )
    const started = await execute(id, {}, other.key)
    assert.strictEqual((await ended(started.body.executionId, other.key)).status, "completed")
    assert.strictEqual((await notifications(other.key)).length, 1)
  })

  it("is refused what would reach nobody, is too long or too much", async () => {
    const other = await svc.organisation("Telling wrongly")
    const id = await published(
      code(`
        const errorOf = async (message) => { try { await svc.notify(message) } catch (error) { return [error.name, error.code ?? null] } }
        const wrong = []
        for (const one of [...ctx.input.messages, { channel: "in_app", body: String.fromCharCode(0) }]) wrong.push(await errorOf(one))
        let sent = 0
        let last = null
        for (; sent < 200 && last === null; sent++) last = await errorOf({ channel: "in_app", body: "b" }) ?? null
        return { wrong, sent, last }`),
      other.key
    )
    const messages = [
      { channel: "sms", body: "b" },
      { channel: "email", to: "stranger@example.com", body: "b" },
      { channel: "email", to: "no address", body: "b" },
      { channel: "webhook", body: "b" },
      { channel: "webhook", to: "ftp://x.example", body: "b" },
      { channel: "in_app", body: "b".repeat(4_001) },
      { channel: "in_app", body: "b", link: "https://phishing.example" }
    ]
    const answer = await execute(id, { messages }, other.key)
    assert.deepStrictEqual(answer.body, {
      wrong: [
        ["TypeError", null],
        ["NoTarget", "NO_TARGET"],
        ["TypeError", null],
        ["NoTarget", "NO_TARGET"],
        ["TypeError", null],
        ["TypeError", null],
        ["TypeError", null],
        ["TypeError", null]
      ],
      sent: 100 - messages.length,
      last: ["RangeError", "TOO_MANY_NOTIFICATIONS"]
    })
    await svc.sql(`INSERT INTO notifications (id, org, channel, severity, title, body, status, pending, targets, hour, created_at)
      SELECT 'ntf_many' || n, '${other.organisationId}', 'in_app', 'info', 't', 'b', 'sent', 0, 0, date_trunc('hour', now()), now()
      FROM generate_series(1, 2000) n`)
    const beyond = await execute(id, { messages: [{ channel: "in_app", body: "b" }] }, other.key)
    assert.deepStrictEqual(beyond.body.wrong[0], ["QuotaExceeded", "QUOTA_EXCEEDED"])
  })
})
