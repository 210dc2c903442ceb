/** A run tells people by notifications, once for each call, and asks them for approvals, of which the first decision counts. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { JSDOM } from "jsdom"
import { eventually } from "../support/eventually.js"
import {
  ask,
  code,
  confirm,
  decide,
  ended,
  execute,
  execution,
  linkTo,
  mailbox,
  notifications,
  opened,
  published,
  receiver,
  settled,
  startPeople,
  stopPeople,
  svc
} from "../support/people.js"

beforeAll(() => startPeople())
afterAll(stopPeople)

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

describe("An approval", () => {
  const asks = (config: object = {}, more: object = {}) => ({
    name: "sign",
    type: "approval",
    config: { approvers: ["ada@example.com"], message: "Pay {{input.amount}}?", ...config },
    ...more
  })
  const started = async (steps: ReadonlyArray<object>, key: string, input: object = { amount: 5 }) => {
    const id = await published({ form: "steps", spec: { steps } }, key)
    const { warnings } = (await ask("GET", `/workflows/${id}`, undefined, key)).body.data
    if (steps.length === 1) assert.deepStrictEqual(warnings[0]?.code, "UNKNOWN_APPROVER")
    const answer = await execute(id, input, key)
    assert.strictEqual(answer.status, 202, answer.text)
    return answer.body.executionId as string
  }

  it("lets the run go on after its one decision of a hundred, with its audit entry", async () => {
    const { key } = await svc.organisation("Approving")
    const executionId = await started([asks()], key)
    const [approval] = await opened(executionId, key)
    assert.deepInclude(approval, {
      executionId,
      name: "sign",
      message: "Pay 5?",
      approvers: ["ada@example.com"],
      status: "open",
      decision: null
    })
    const [step] = (await execution(executionId, key)).steps
    assert.deepInclude(step, { path: "sign", type: "approval", status: "waiting" })
    const decisions = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        decide(
          approval,
          { decision: n % 2 === 0 ? "approve" : "reject", comment: `${n}`, actor: "Ada@example.com" },
          key
        )
      )
    )
    const won = decisions.filter(({ status }) => status === 200)
    assert.strictEqual(won.length, 1)
    for (const one of decisions) if (one.status !== 200) assert.deepInclude([409, 429], one.status, one.text)
    const decided = won[0]?.body.data
    const done = await ended(executionId, key)
    if (decided.decision === "approve")
      assert.deepStrictEqual(done.output, { decision: "approve", comment: decided.comment, actor: "Ada@example.com" })
    else assert.deepInclude(done.error, { code: "APPROVAL_REJECTED" })
    assert.deepInclude(decided.decidedBy, { type: "service_account" })
    const entries = (await ask("GET", "/audit?action=approval.decide&page_size=200", undefined, key)).body.data
    const successes = entries.filter(({ outcome }: { readonly outcome: string }) => outcome === "success")
    assert.deepStrictEqual(
      successes.map(({ resource }: { readonly resource: { readonly id: string } }) => resource.id),
      [approval.id]
    )
  })

  it("reaches a run that waits for other calls as well, and several at once", async () => {
    const { key } = await svc.organisation("Busy approving")
    const slow = {
      name: "slow",
      type: "action",
      dependsOn: [],
      config: {
        code: `export default async () => {
      await new Promise((done) => setTimeout(done, 900)); await new Promise((done) => setTimeout(done, 900)); return 1 }`
      }
    }
    const executionId = await started(
      [slow, asks({}, { dependsOn: [] }), asks({ approvers: ["Owner"] }, { name: "again", dependsOn: [] })],
      key
    )
    const found = await eventually(
      async () => (await ask("GET", `/approvals?execution_id=${executionId}`, undefined, key)).body.data,
      (all) => all.length === 2
    )
    const [first, second] = ["sign", "again"].map((name) =>
      found.find((one: { readonly name: string }) => one.name === name)
    )
    assert.strictEqual((await decide(first, { decision: "approve", actor: "ada@example.com" }, key)).status, 200)
    await eventually(
      async () => (await execution(executionId, key)).steps,
      (steps) =>
        steps.some(
          (one: { readonly path: string; readonly status: string }) => one.path === "sign" && one.status === "completed"
        )
    )
    // Nobody has that role.
    const none = await decide(second, { decision: "approve", actor: "ada@example.com" }, key)
    assert.deepStrictEqual([none.status, none.body.details[0].code], [422, "NOT_AN_APPROVER"])
    const roles = (await ask("GET", "/roles", undefined, key)).body.data
    const role = roles.find(({ name }: { readonly name: string }) => name === "owner")
    await ask("POST", "/users/invite", { email: "boss@example.com", role: role.id }, key)
    assert.strictEqual((await decide(second, { decision: "approve", actor: "boss@example.com" }, key)).status, 200)
    assert.strictEqual((await ended(executionId, key)).status, "completed")
  })

  it("expires as it says, and ends with its run", async () => {
    const { key } = await svc.organisation("Late approving")
    const [rejecting, approving, cancelled] = await Promise.all([
      started([asks({ expiresInMs: 1_500 })], key),
      started([asks({ expiresInMs: 1_500, onExpire: "approve" })], key),
      started([asks()], key)
    ])
    const [open] = await opened(cancelled, key)
    await ask("POST", `/executions/${cancelled}/cancel`, {}, key)
    const late = await decide(open, { decision: "approve", actor: "ada@example.com" }, key)
    assert.deepStrictEqual([late.status, late.body.code, late.body.state], [409, "INVALID_STATE", "closed"])
    assert.deepInclude((await ended(rejecting, key)).error, { code: "APPROVAL_REJECTED" })
    assert.deepStrictEqual((await ended(approving, key)).output, { decision: "approve", comment: null, actor: null })
    const statuses = (await ask("GET", "/approvals", undefined, key)).body.data
    assert.deepStrictEqual(
      statuses
        .map(({ executionId, status }: { readonly [member: string]: string }) => `${executionId} ${status}`)
        .sort(),
      [`${rejecting} expired`, `${approving} expired`, `${cancelled} closed`].sort()
    )
  })

  it("is invisible to other organisations and to keys of other customers", async () => {
    const mine = await svc.organisation("Mine")
    const other = await svc.organisation("Foreign")
    const executionId = await started([asks()], mine.key)
    const [approval] = await opened(executionId, mine.key)
    const issued = await ask(
      "POST",
      "/api-keys",
      { name: "subset", mode: "live", preset: "developer", customers: { mode: "subset", ids: [mine.customerId] } },
      mine.key
    )
    for (const key of [other.key, issued.body.data.key]) {
      assert.deepStrictEqual((await ask("GET", "/approvals", undefined, key)).body.data, [])
      const refused = await decide(approval, { decision: "approve", actor: "ada@example.com" }, key)
      assert.strictEqual(refused.status, 404, refused.text)
    }
    assert.strictEqual((await ask("GET", "/approvals", undefined, mine.key)).body.data[0].status, "open")
  })

  it("is refused to runs that may not wait so long, and beyond the most of a run and an organisation", async () => {
    const other = await svc.organisation("Too many")
    const body = `try { return await svc.approval("x", { approvers: ["a@b.c"], message: "?", ...ctx.input }) } catch (e) { return [e.name, e.code ?? null, e.message] }`
    const instant = await execute(await published(code(body), other.key), {}, other.key)
    assert.deepStrictEqual(instant.body.slice(0, 2), ["TypeError", "TIER_TOO_SHORT"])
    const many = await published(
      code(
        `const failed = []
        await new Promise((done) => {
          for (let n = 0; n < 51; n++)
            svc.approval("n" + n, { approvers: ["a@b.c"], message: "?" }).catch((e) => done(failed.push(e.code)))
        })
        return failed`,
        "long"
      ),
      other.key
    )
    const run = await execute(many, {}, other.key)
    assert.deepStrictEqual((await ended(run.body.executionId, other.key)).output, ["TOO_MANY_APPROVALS"])
    const long = await published(code(body, "long"), other.key)
    const wrong = async (input: object) => {
      const answer = await execute(long, input, other.key)
      return (await ended(answer.body.executionId, other.key)).output.slice(0, 2)
    }
    assert.deepStrictEqual(await wrong({ expiresInMs: 36 * 3_600_000 + 1 }), ["TypeError", null])
    assert.deepStrictEqual(await wrong({ approvers: [] }), ["TypeError", null])
    assert.deepStrictEqual(await wrong({ link: "https://phishing.example" }), ["TypeError", null])
    await svc.sql(`INSERT INTO approvals (id, org, space, execution_id, workflow_id, workflow_name, environment, key, name, message,
        approvers, status, on_expire, expires_at)
      SELECT 'apv_' || n, '${other.organisationId}', 'spc', 'exec_' || n, 'wf', 'w', 'live', 'k', 'n', 'm', '[]', 'open', 'reject',
        now() + interval '1 day' FROM generate_series(1, 10000) n`)
    assert.deepStrictEqual(await wrong({}), ["TooManyApprovals", "TOO_MANY_APPROVALS"])
    // A neighbour's approvals are asked and decided as before.
    const neighbour = await svc.organisation("Neighbour")
    const executionId = await started([asks()], neighbour.key)
    const [approval] = await opened(executionId, neighbour.key)
    await decide(approval, { decision: "approve", actor: "ada@example.com" }, neighbour.key)
    const done = await ended(executionId, neighbour.key)
    assert.strictEqual(done.status, "completed")
  })

  it("is asked by a link that decides nothing when it is opened, only by its form", async () => {
    const other = await svc.organisation("Mailed")
    await ask("POST", "/webhook-endpoints", { url: `${receiver.url}/asked`, events: ["approval.requested"] }, other.key)
    await confirm(other.organisationId, "grace@example.com")
    const message = 'Canary <script>alert("x")</script> {{steps.x}} "quoted"'
    const executionId = await started(
      [
        {
          name: "canary",
          type: "approval",
          config: { approvers: ["Grace@example.com", "stranger@example.com"], message: "{{input.text}}" }
        }
      ],
      other.key,
      { text: message }
    )
    await opened(executionId, other.key)
    const link = await linkTo("grace@example.com")
    const status = async () => (await ask("GET", "/approvals", undefined, other.key)).body.data[0].status
    // Scanners and browsers open links, also ahead of a click, and send other methods.
    for (const [method, headers] of [
      ["GET", {}],
      ["HEAD", {}],
      ["GET", { purpose: "prefetch", "sec-purpose": "prefetch;prerender" }],
      ["PUT", {}],
      ["OPTIONS", {}]
    ] as const)
      await svc.ask(method, link, { headers })
    const opening = await svc.ask("GET", link)
    const page = new JSDOM(opening.text, {
      runScripts: "dangerously",
      url: `http://svc.test${link}`
    })
    const { document } = page.window
    assert.strictEqual(document.querySelector("blockquote")?.textContent, message)
    assert.strictEqual(document.querySelectorAll("script, img, link, iframe").length, 0)
    assert.strictEqual(opening.headers["referrer-policy"], "no-referrer")
    for (const decision of ["", "maybe"]) {
      const wrong = await svc.ask("POST", link, {
        raw: `decision=${decision}`,
        headers: { "content-type": "application/x-www-form-urlencoded" }
      })
      assert.strictEqual(wrong.status, 422)
    }
    assert.strictEqual(await status(), "open")
    const form = document.querySelector("form")
    assert.deepStrictEqual([form?.method, form?.action], ["post", `http://svc.test${link}`])
    const post = () =>
      svc.ask("POST", link, {
        raw: "comment=not+now&decision=reject",
        headers: { "content-type": "application/x-www-form-urlencoded" }
      })
    const answers = await Promise.all(Array.from({ length: 5 }, post))
    assert.deepStrictEqual(answers.map((one) => one.status).sort(), [200, 409, 409, 409, 409])
    assert.strictEqual(await status(), "rejected")
    const done = await ended(executionId, other.key)
    assert.deepInclude(done.error, { code: "APPROVAL_REJECTED", message: "grace@example.com rejected it: not now" })
    assert.strictEqual((await svc.ask("GET", link)).status, 410)
    assert.strictEqual((await svc.ask("GET", `${link.slice(0, -4)}aaaa`)).status, 410)
    // An address that nobody has confirmed gets none.
    assert.isUndefined(mailbox.messages.find((one) => one.includes("stranger@example.com")))
    const [event] = await eventually(
      async () => receiver.at("/asked"),
      (all) => all.length > 0
    )
    assert.deepInclude(JSON.parse(event?.body ?? "{}"), { type: "approval.requested" })
    assert.deepInclude(JSON.parse(event?.body ?? "{}").data, { executionId, name: "canary" })
    const [entry] = (await ask("GET", "/audit?action=approval.decide", undefined, other.key)).body.data
    assert.deepInclude(entry.actor, { type: "user", id: "grace@example.com" })
  })
})
