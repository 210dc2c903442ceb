/** People are told, in the application and outside, once an hour for each cause. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { announce } from "../support/LogExpectations.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { type Receiver, startReceiver } from "../support/receiver.js"
import { type SmtpServer, startSmtpServer } from "../support/smtpServer.js"

const password = "canary/of+the mailbox"
let svc: Running
let receiver: Receiver
let mailbox: SmtpServer
beforeAll(async () => {
  receiver = await startReceiver()
  mailbox = await startSmtpServer(["svc", password])
  svc = await start({
    SVC_EGRESS_ALLOW: "127.0.0.1/32",
    SVC_SMTP_URL: `smtp://svc:${encodeURIComponent(password)}@127.0.0.1:${mailbox.port}?from=svc@example.com&security=none`
  })
})
afterAll(async () => {
  await svc.stop()
  await Promise.all([receiver.close(), mailbox.close()])
})

const ask = async (method: string, target: string, body?: object, key = svc.first.key) => {
  const answer = await svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })
  assert.isBelow(answer.status, 300, `${method} ${target}: ${answer.text}`)
  return answer
}
const sql = (statement: string) => svc.sql(statement)

let events = 0
/** Adds an event to the outbox, as a part of the service would. */
const emit = (organisation: string, type: string, subject: string, payload: object, customer: string | null = null) =>
  sql(`INSERT INTO domain_events (id, org, type, subject, customer_id, payload) VALUES
    ('evt_test${(events += 1)}', '${organisation}', '${type}', '${subject}', ${customer === null ? "NULL" : `'${customer}'`},
     '${JSON.stringify(payload)}')`)

const published = () =>
  eventually(
    () => sql("SELECT id FROM domain_events"),
    (rows) => rows.length === 0
  )
const target = (value: object | null, level = "saas", scopeId: string | null = null, key = svc.first.key) =>
  svc.ask("PUT", "/api/v1/config", { key, body: { level, scopeId, key: "notifications", value } })
const notifications = async (key: string) =>
  (await ask("GET", "/notifications", undefined, key)).body.data as ReadonlyArray<{
    readonly id: string
    readonly channel: string
    readonly status: string
    readonly title: string
    readonly severity: string
    readonly source: object | null
  }>
/** The notifications, once none waits to be sent. */
const settled = (key: string, count: number) =>
  eventually(
    () => notifications(key),
    (found) => found.length >= count && found.every(({ status }) => status !== "queued")
  )

/** The link of the mail that asks the owner of an address, once it has come. */
const linkTo = async (address: string): Promise<string> => {
  const text = await eventually(
    async () =>
      mailbox.messages.find((one) => one.includes(`To: ${address}\r\n`) && one.includes("Confirm this address")),
    (found) => found !== undefined
  )
  const content = Buffer.from(text?.slice(text.indexOf("\r\n\r\n") + 4) ?? "", "base64").toString()
  return /http:\/\/svc\.test(\/mail\/confirm\/\S+)/.exec(content)?.[1] ?? content
}
/** Confirms the address as its owner does. */
const confirmed = async (address: string) => {
  const link = await linkTo(address)
  assert.strictEqual((await svc.ask("GET", link)).status, 200)
  assert.strictEqual((await svc.ask("POST", link)).status, 200)
  assert.strictEqual((await svc.ask("POST", link)).status, 410, "a link is used once")
}

describe("A notification", () => {
  it("reaches every channel that the organisation has configured", async () => {
    const hooks = { teamChat: [`${receiver.url}/chat`], webhook: [`${receiver.url}/hook`] }
    assert.strictEqual((await target({ email: ["ops@example.com", "Boss@example.com"], ...hooks })).status, 200)
    await confirmed("ops@example.com")
    await confirmed("boss@example.com")
    await emit(svc.first.organisationId, "connection.expired", "conn_1", { connector: "acme" })
    const found = await settled(svc.first.key, 4)
    assert.sameMembers(
      found.map(({ channel, status }) => `${channel} ${status}`),
      ["in_app sent", "email sent", "team_chat sent", "webhook sent"]
    )
    assert.deepInclude(found[0], {
      severity: "error",
      title: "A connection to acme has expired",
      source: { type: "connection", id: "conn_1" }
    })
    const mails = await eventually(
      async () => mailbox.messages.filter((text) => text.includes("[error]")),
      (messages) => messages.length >= 2
    )
    assert.strictEqual(mails.length, 2)
    assert.match(mails.join("\n"), /Subject: \[error\] A connection to acme has expired/)
    assert.sameMembers(
      mails.map((text) => /^To: (.*?)\r?$/m.exec(text)?.[1]),
      ["ops@example.com", "Boss@example.com"]
    )
    const [chat] = receiver.at("/chat")
    assert.match(JSON.parse(chat?.body ?? "{}").text, /^\[error\] A connection to acme has expired\n/)
    const [hook] = receiver.at("/hook")
    const message = JSON.parse(hook?.body ?? "{}")
    assert.deepInclude(message, { type: "notification.created" })
    assert.deepInclude(message.data, {
      channel: "webhook",
      severity: "error",
      source: { type: "connection", id: "conn_1" }
    })
    assert.isDefined(hook?.headers["webhook-signature"])
  })

  it("names workflow, trigger, customer and cause, and the address of its record", async () => {
    const other = await svc.organisation("Named")
    const { id: workflowId } = (
      await ask(
        "POST",
        "/workflows",
        {
          name: "sync_orders",
          form: "code",
          tier: "instant",
          code: "export default async () => { throw new Error('no stock') }"
        },
        other.key
      )
    ).body.data
    await ask("POST", `/workflows/${workflowId}/publish`, {}, other.key)
    const trigger = await ask(
      "POST",
      "/triggers",
      {
        type: "webhook",
        name: "shop orders",
        customerId: other.customerId,
        routes: [{ workflowId }],
        webhook: { auth: "public" }
      },
      other.key
    )
    const { pathname } = new URL(trigger.body.data.webhook.url)
    assert.strictEqual((await svc.ask("POST", pathname, { body: { n: 1 } })).status, 202)
    const found = await eventually(
      async () => (await ask("GET", "/notifications", undefined, other.key)).body.data,
      (all) => all.length > 0
    )
    const { name } = (await ask("GET", `/customers/${other.customerId}`, undefined, other.key)).body.data
    const [{ body, link }] = found
    for (const part of ["no stock", "Workflow: sync_orders", "Trigger: shop orders", `Customer: ${name}`])
      assert.include(body, part)
    const { pathname: record } = new URL(link)
    assert.strictEqual((await svc.ask("GET", record, { key: other.key })).body.data.error.message, "no stock")
    await emit(other.organisationId, "quota.warning", "events_per_day", {
      dimension: "events_per_day",
      used: 860,
      limit: 1_000
    })
    await eventually(
      () => notifications(other.key),
      (all) => all.some(({ title }) => title === "The quota events_per_day is used to 86 per cent")
    )
  })

  it("is written once for its cause in an hour", async () => {
    const other = await svc.organisation("Repeated")
    for (let i = 0; i < 3; i++) await emit(other.organisationId, "connection.failed", "conn_1", { connector: "acme" })
    await emit(other.organisationId, "connection.failed", "conn_2", { connector: "acme" })
    await published()
    assert.strictEqual((await notifications(other.key)).length, 2)
    await sql(`UPDATE notifications SET hour = hour - interval '1 hour' WHERE org = '${other.organisationId}'`)
    await emit(other.organisationId, "connection.failed", "conn_1", { connector: "acme" })
    await published()
    assert.strictEqual((await notifications(other.key)).length, 3)
  })

  it("follows the customer's targets before the organisation's, and the least severity", async () => {
    const other = await svc.organisation("Levels")
    await target({ teamChat: [`${receiver.url}/all`] }, "saas", null, other.key)
    await target({ teamChat: [`${receiver.url}/one`], minimum: "error" }, "tenant", other.customerId, other.key)
    const about = (type: string, subject: string, customer: string | null) =>
      emit(other.organisationId, type, subject, { connector: "acme" }, customer)
    await about("connection.refresh_failed", "conn_1", null)
    await about("connection.refresh_failed", "conn_2", other.customerId)
    await about("connection.failed", "conn_3", other.customerId)
    await settled(other.key, 5)
    assert.deepStrictEqual([receiver.at("/all").length, receiver.at("/one").length], [1, 1])
    assert.match(receiver.at("/one")[0]?.body ?? "", /has failed/)
  })

  it("fails if none of its targets can be reached, and says so", async () => {
    const other = await svc.organisation("Unreachable")
    await target({ webhook: ["https://10.0.0.1/hook", "https://10.0.0.2/hook"] }, "saas", null, other.key)
    await emit(other.organisationId, "connection.failed", "conn_1", { connector: "acme" })
    const found = await settled(other.key, 2)
    assert.sameMembers(
      found.map(({ channel, status }) => `${channel} ${status}`),
      ["in_app sent", "webhook failed"]
    )
  })

  it("can be created, and marked as read", async () => {
    const other = await svc.organisation("Own")
    const first = await ask("POST", "/notifications", { title: "Late", severity: "warning" }, other.key)
    assert.deepInclude(first.body.data, { channel: "in_app", status: "sent", customerId: null, readAt: null })
    await ask("POST", "/notifications", { title: "Later", customerId: other.customerId }, other.key)
    const { id } = first.body.data
    const marked = await ask("POST", "/notifications/mark-read", { ids: [id, "ntf_unknown"] }, other.key)
    assert.deepStrictEqual(marked.body.data, { updated: 1 })
    const read = await ask("GET", `/notifications/${id}`, undefined, other.key)
    assert.strictEqual(read.body.data.status, "read")
    assert.isNotNull(read.body.data.readAt)
    const early = { all: true, before: "2020-01-01T00:00:00Z" }
    assert.deepStrictEqual((await ask("POST", "/notifications/mark-read", early, other.key)).body.data, { updated: 0 })
    const rest = await ask("POST", "/notifications/mark-read", { all: true }, other.key)
    assert.deepStrictEqual(rest.body.data, { updated: 1 })
  })

  it("is refused on a channel without a target", async () => {
    const other = await svc.organisation("No targets")
    const answer = await svc.ask("POST", "/api/v1/notifications", {
      key: other.key,
      body: { title: "x", channel: "email" }
    })
    assert.deepStrictEqual([answer.status, answer.body.details[0].path], [422, "channel"])
  })

  it("of another customer is invisible to a key of some customers", async () => {
    const other = await svc.organisation("Subset")
    const stranger = (await ask("POST", "/customers", { name: "Stranger" }, other.key)).body.data.id
    const issued = await ask(
      "POST",
      "/api-keys",
      { name: "subset", mode: "live", preset: "developer", customers: { mode: "subset", ids: [other.customerId] } },
      other.key
    )
    const subset = issued.body.data.key
    const mine = await ask("POST", "/notifications", { title: "mine", customerId: other.customerId }, other.key)
    const theirs = await ask("POST", "/notifications", { title: "theirs", customerId: stranger }, other.key)
    await ask("POST", "/notifications", { title: "for all" }, other.key)
    assert.deepStrictEqual(
      (await notifications(subset)).map(({ id }) => id),
      [mine.body.data.id]
    )
    const hidden = await svc.ask("GET", `/api/v1/notifications/${theirs.body.data.id}`, { key: subset })
    assert.strictEqual(hidden.status, 404)
    const marked = await ask("POST", "/notifications/mark-read", { all: true }, subset)
    assert.deepStrictEqual(marked.body.data, { updated: 1 })
  })
})

describe("The configuration of targets", () => {
  it("is refused where a target could not be reached", async () => {
    const pathOf = async (value: object) => (await target(value)).body.details?.[0]?.path
    assert.strictEqual(await pathOf({ email: ["not an address"] }), "value.email.0")
    assert.strictEqual(await pathOf({ teamChat: ["ftp://chat.example"] }), "value.teamChat.0")
    assert.strictEqual(await pathOf({ sms: ["123"] }), "value.sms")
  })
})

describe("An address", () => {
  const fresh = async (name: string) => {
    const other = await svc.organisation(name)
    await sql(`UPDATE organisations SET plan = 'starter' WHERE id = '${other.organisationId}'`)
    return other
  }
  const mailsTo = (address: string) => mailbox.messages.filter((text) => text.includes(`To: ${address}\r\n`))
  const write = (key: string, title = "Free text") =>
    svc.ask("POST", "/api/v1/notifications", { key, body: { title, channel: "email", severity: "error" } })

  it("gets no free text until its owner has confirmed it, also by events", async () => {
    const other = await fresh("Relay")
    assert.strictEqual((await target({ email: ["victim@example.com"] }, "saas", null, other.key)).status, 200)
    const refused = await write(other.key)
    assert.deepStrictEqual([refused.status, refused.body.details?.[0]?.code], [422, "NO_TARGET"])
    await emit(other.organisationId, "connection.expired", "conn_1", { connector: "free text" })
    await published()
    const link = await linkTo("victim@example.com")
    // Reading the page confirms nothing.
    assert.strictEqual((await svc.ask("GET", link)).status, 200)
    assert.strictEqual((await write(other.key)).status, 422)
    assert.strictEqual((await svc.ask("POST", link)).status, 200)
    assert.strictEqual((await write(other.key)).status, 201)
    await eventually(
      async () => mailsTo("victim@example.com").length,
      (count) => count === 2
    )
    assert.notInclude(mailsTo("victim@example.com")[0], "free text")
  })

  it("is asked once an hour over all organisations, and one organisation asks twenty an hour", async () => {
    const [first, second] = [await fresh("First asker"), await fresh("Second asker")]
    const many = Array.from({ length: 20 }, (_, n) => `many${n}@example.com`)
    for (const { key } of [first, second]) await target({ email: ["shared@example.com"] }, "saas", null, key)
    await target({ email: many }, "tenant", first.customerId, first.key)
    const asked = await eventually(
      () =>
        sql(`SELECT org, count(asked_at)::int AS asked, count(*)::int AS known FROM mail_addresses
          WHERE org IN ('${first.organisationId}', '${second.organisationId}') GROUP BY org`) as Promise<
          ReadonlyArray<{ readonly org: string; readonly asked: number; readonly known: number }>
        >,
      (rows) => rows.some(({ asked, known }) => asked === 20 && known === 21)
    )
    assert.strictEqual(
      asked.reduce((sum, one) => sum + one.asked, 0),
      20,
      "the address that both name was asked for one of them"
    )
  })

  it("is asked again after an hour where the mail failed, and not where the server refused it for good", async () => {
    announce(/mail\.confirmation_failed/, { required: true })
    const other = await fresh("Asked again")
    mailbox.script = {
      RCPT: (line) =>
        line.includes("later@") ? "451 4.2.0 later" : line.includes("never@") ? "550 5.1.1 who" : undefined
    }
    await target({ email: ["later@example.com", "never@example.com"] }, "saas", null, other.key)
    const state = () =>
      sql(`SELECT split_part(address, '@', 1) AS name, answered_at IS NOT NULL AS answered FROM mail_addresses
        WHERE org = '${other.organisationId}' AND asked_at IS NOT NULL ORDER BY address`) as Promise<
        ReadonlyArray<{ readonly name: string; readonly answered: boolean }>
      >
    const refused = await eventually(state, (rows) => rows.length === 2 && rows[1]?.answered === true)
    assert.deepStrictEqual(refused, [
      { name: "later", answered: false },
      { name: "never", answered: true }
    ])
    mailbox.script = {}
    await sql(`UPDATE mail_addresses SET asked_at = asked_at - interval '1 hour'
      WHERE org = '${other.organisationId}' AND address LIKE 'later@%'`)
    await confirmed("later@example.com")
    assert.lengthOf(mailsTo("never@example.com"), 0)
  })

  it("of before the upgrade is used for its time without a confirmation", async () => {
    const other = await fresh("Upgraded")
    await sql(`INSERT INTO mail_addresses (org, address, usable_until)
      VALUES ('${other.organisationId}', 'old@example.com', now() + interval '14 days')`)
    await target({ email: ["old@example.com"] }, "saas", null, other.key)
    assert.strictEqual((await write(other.key)).status, 201)
    await sql(`UPDATE mail_addresses SET usable_until = now() WHERE org = '${other.organisationId}'`)
    assert.strictEqual((await write(other.key)).status, 422)
  })

  it("gets as many messages an hour as the plan allows, each with one line of a subject", async () => {
    const other = await fresh("Many messages")
    await target({ webhook: [`${receiver.url}/many`] }, "saas", null, other.key)
    const body = { title: "Free text", channel: "webhook" }
    const answers = await Promise.all(
      Array.from({ length: 110 }, () => svc.ask("POST", "/api/v1/notifications", { key: other.key, body }))
    )
    const made = answers.filter(({ status }) => status === 201).length
    assert.isAtLeast(made, 50)
    // The hour may have changed meanwhile.
    assert.isAtMost(made, 100)
    const refused = answers.find(({ status }) => status === 429)
    assert.deepInclude(refused?.body, { code: "QUOTA_EXCEEDED" })
    const split = await write(svc.first.key, "One\r\nBcc: all@example.com")
    assert.deepStrictEqual([split.status, split.body.details?.[0]?.path], [422, "title"])
  })
})
