/** People sign in by a link that works once; their session speaks for the service's own pages only, and ends everywhere. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { Sessions } from "../../src/actors/ports/access/Sessions.js"
import { Digests } from "../../src/actors/ports/Digests.js"
import type { AuditEntry } from "../../src/domain/audit/Audit.js"
import { sessionLimits } from "../../src/domain/access/Session.js"
import { refusalLimits } from "../../src/domain/Limits.js"
import { type Ask, type Running, start } from "../support/InProcess.js"
import { eventually } from "../support/eventually.js"
import { asWith, openPanel } from "../support/embed.js"
import { cookieOf, form, origin, own, signInTo } from "../support/signIn.js"

let svc: Running
beforeAll(async () => {
  svc = await start({ SVC_PUBLIC_URL: origin })
})
afterAll(() => svc.stop())

const { askWith, newLink, newOwner, open } = signInTo(() => svc)

describe("a link", () => {
  it("makes the first owner, once, also when many use it at the same time", async () => {
    const { organisationId } = await svc.organisation("Raced", "growth")
    const token = await newLink(organisationId)
    const answers = await Promise.all(Array.from({ length: 50 }, () => open(token)))
    assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [303, ...Array(49).fill(410)])
    const people = await svc.sql(`SELECT email, status FROM users WHERE org = '${organisationId}'`)
    assert.deepStrictEqual(people, [{ email: "owner@localhost", status: "active" }])
  })

  it("of the owner signs in the same owner again, and two first ones make one", async () => {
    const { organisationId } = await svc.organisation("Twice", "growth")
    const tokens = [await newLink(organisationId), await newLink(organisationId)]
    const opened = await Promise.all(tokens.map((token) => open(token)))
    assert.deepStrictEqual(
      opened.map(({ status }) => status),
      [303, 303]
    )
    const sessions = (await askWith(cookieOf(opened[0] ?? assert.fail()))("GET", "/api/v1/sessions")).body.data
    assert.deepStrictEqual(sessions.map((one: { current: boolean }) => one.current).toSorted(), [false, true])
    assert.lengthOf(await svc.sql(`SELECT id FROM users WHERE org = '${organisationId}'`), 1)
  })

  it("names a person by the address, and nobody by an unknown one once there is an owner", async () => {
    const { cookie, organisation } = await newOwner("Named")
    const invited = await svc.ask("POST", "/api/v1/users/invite", {
      key: organisation.key,
      body: { email: "Ada@example.com", role: "viewer" }
    })
    const unknown = await open(await newLink(organisation.organisationId, "nobody@example.com"))
    assert.strictEqual(unknown.status, 410)
    // A page without a referrer names no origin.
    const fromPage = { origin: "null", "sec-fetch-site": "same-origin" }
    const opened = await open(await newLink(organisation.organisationId, "ada@EXAMPLE.com"), { headers: fromPage })
    const me = (await askWith(cookieOf(opened))("GET", "/api/v1/me")).body.data
    assert.deepInclude(me, { kind: "person", id: invited.body.data.userId, email: "Ada@example.com" })
    assert.notInclude(me.permissions.workflows, "update")
    const owner = (await askWith(cookie)("GET", "/api/v1/me")).body.data
    assert.include(owner.permissions.workflows, "update")
  })

  it("works for 15 minutes, from the service's own page, and not for guesses", async () => {
    const { organisationId } = await svc.organisation("Late", "growth")
    const token = await newLink(organisationId)
    const foreign = await open(token, { headers: { origin: "https://evil.example" } })
    const framed = await open(token, { headers: { "sec-fetch-site": "cross-site" } })
    const unnamed = await open(token, { headers: { origin: "null", "sec-fetch-site": "cross-site" } })
    assert.deepStrictEqual([foreign.status, framed.status, unnamed.status], [403, 403, 403])
    await svc.sql(
      `UPDATE sign_in_links SET expires_at = expires_at - interval '15 minutes' WHERE org = '${organisationId}'`
    )
    assert.strictEqual((await open(token)).status, 410)
    await svc.sql(`INSERT INTO sign_in_links VALUES ('old', '${organisationId}', NULL, now() - interval '25 hours')`)
    await newLink(organisationId)
    assert.deepStrictEqual(await svc.sql(`SELECT 1 FROM sign_in_links WHERE token_hash = 'old'`), [])
    const from = "203.0.113.9"
    const guesses: Array<number> = []
    for (let n = 0; n < 2 * sessionLimits.triesPerMinute + 1; n++)
      guesses.push((await open(randomBytes(32).toString("base64url"), { from })).status)
    assert.include(guesses, 429)
    for (const raw of ["", "token=", "token=short", "other=1&token=x", `token=${"x".repeat(2_000)}`])
      assert.strictEqual((await open("", { raw })).status, 410)
  })
})

describe("a link that does not sign in", () => {
  it("is told of in the audit trail of its organisation, once a minute and address", async () => {
    const { cookie, organisation } = await newOwner("Tried")
    const { organisationId } = organisation
    const token = await newLink(organisationId)
    assert.strictEqual((await open(token)).status, 303)
    const from = "203.0.113.21"
    for (let n = 0; n < 3; n++) assert.strictEqual((await open(token, { from })).status, 410)
    const late = await newLink(organisationId)
    await svc.sql(`UPDATE sign_in_links SET expires_at = now() WHERE org = '${organisationId}' AND used_at IS NULL`)
    assert.strictEqual((await open(late, { from })).status, 410)
    assert.strictEqual((await open(await newLink(organisationId, "nobody@example.com"), { from })).status, 410)
    // The minute ends.
    const later = "61 seconds"
    const entries = await eventually(
      async () =>
        (await svc.ask("GET", "/api/v1/audit?action=auth.login_failed", { key: organisation.key, later })).body.data,
      (found) => found.length >= 3
    )
    const owner = (await askWith(cookie)("GET", "/api/v1/me")).body.data.id
    const told = entries.map(({ actor, changes, count, outcome }: AuditEntry) => {
      assert.deepStrictEqual([outcome, actor.ip, actor.type], ["failure", from, "user"])
      return { who: actor.id, name: actor.name, reason: changes[0]?.after, count }
    })
    assert.sameDeepMembers(told, [
      { who: owner, name: "Owner", reason: "LINK_USED", count: 3 },
      { who: owner, name: "Owner", reason: "LINK_EXPIRED", count: 1 },
      { who: "unknown", name: "nobody@example.com", reason: "NO_PERSON", count: 1 }
    ])
  })
})

describe("a session", () => {
  it("acts with the rights of its person, and is named in the audit trail", async () => {
    const { cookie, organisation, setCookie } = await newOwner("Acting")
    assert.match(setCookie, /^svc_session_3000=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/)
    const ask = askWith(cookie)
    const made = await ask("POST", "/api/v1/customers", { body: { name: "Made by a person" } })
    assert.strictEqual(made.status, 201, made.text)
    const run = await ask("POST", `/api/v1/workflows/${organisation.workflowId}/execute`, { body: { input: {} } })
    assert.strictEqual(run.status, 200, run.text)
    const started = `/api/v1/executions/${run.headers["x-svc-execution-id"]}`
    const shown = await eventually(
      () => ask("GET", started),
      ({ body }) => body.data?.status === "completed"
    )
    const rerun = await ask("POST", `${started}/rerun`, { body: {} })
    const key = await ask("POST", "/api/v1/api-keys", { body: { name: "By a person", preset: "full_access" } })
    assert.deepStrictEqual([key.status, key.body.data?.rateLimitPerMinute], [201, null], key.text)
    const me = (await ask("GET", "/api/v1/me")).body.data
    assert.deepInclude(shown.body.data.trigger, { type: "manual", id: me.id, keyId: null })
    assert.deepInclude(rerun.body.data.trigger, { type: "rerun", id: me.id, keyId: null })
    const trail = await eventually(
      async () => (await ask("GET", `/api/v1/audit?actor_id=${me.id}`)).body.data,
      (found) => found.length >= 3
    )
    const actions = trail.map((one: { action: string }) => one.action)
    assert.includeMembers(actions, ["auth.login", "customer.create", "workflow.execute"])
    assert.deepInclude(trail[0].actor, { type: "user", id: me.id, name: "Owner" })
    assert.notInclude(JSON.stringify(trail), cookie.split("=")[1] ?? "")
  })

  it("speaks for the service's own pages only: no other site, form, frame or surface acts with it", async () => {
    const { cookie, organisation } = await newOwner("Guarded")
    const body = { name: "Forged" }
    const sent: ReadonlyArray<readonly [string, string, Record<string, string>]> = [
      ["POST", "/api/v1/customers", { ...own }],
      ["POST", "/api/v1/customers", { origin }],
      ["POST", "/api/v1/customers", { "x-svc-console": "1" }],
      ["POST", "/api/v1/customers", { "sec-fetch-site": "cross-site", "x-svc-console": "1" }],
      ["POST", "/api/v1/customers", { "sec-fetch-site": "same-site", "x-svc-console": "1" }],
      ["POST", "/api/v1/customers", { origin: "https://evil.example", "x-svc-console": "1" }],
      ["POST", "/api/v1/customers", { origin: "null", "x-svc-console": "1" }],
      ["GET", "/api/v1/customers", {}],
      ["GET", "/api/v1/customers", { "sec-fetch-site": "none" }],
      ["GET", `/api/v1/tenants/${organisation.customerId}/workflows`, own],
      [
        "GET",
        `/api/v1/tenants/${organisation.customerId}/workflows`,
        { ...own, "x-svc-space-id": organisation.spaceId }
      ],
      ["POST", "/api/v1/hello_world", { ...own, "x-svc-console": "1", "x-svc-space-id": organisation.spaceId }]
    ]
    for (const [method, target, headers] of sent) {
      const answer = await svc.ask(method, target, {
        headers: { cookie, ...headers },
        ...(method === "GET" ? {} : { body })
      })
      assert.include([401, 404], answer.status, `${method} ${target} ${JSON.stringify(headers)}: ${answer.text}`)
    }
    assert.lengthOf(await svc.sql(`SELECT id FROM customers WHERE name = 'Forged'`), 0)
    // A key beside it decides alone.
    const keyed = await askWith(cookie)("GET", "/api/v1/me", { key: organisation.key })
    assert.strictEqual(keyed.body.data.kind, "key")
    const bad = await askWith(cookie)("GET", "/api/v1/me", { key: "svk_live_wrong" })
    assert.strictEqual(bad.status, 401)
    const { ask } = await openPanel(svc, svc.first.customerId)
    const beside = { headers: { cookie, ...own, "x-svc-console": "1" } }
    assert.strictEqual((await ask("GET", "/connections", beside)).status, 200)
    assert.strictEqual((await ask("GET", "/me", beside)).status, 403)
    assert.strictEqual((await ask("GET", "/customers", beside)).status, 403)
    assert.strictEqual((await ask("POST", "/customers", { ...beside, body })).status, 403)
    const guessed = await asWith(svc, `emb_${"a".repeat(43)}`)("GET", "/customers", beside)
    assert.strictEqual(guessed.status, 401)
  })

  it("chooses among the person's organisations and their workspaces", async () => {
    const [one, other] = [await newOwner("One"), await newOwner("Other")]
    await svc.sql(`UPDATE users u SET identity_id = o.identity_id FROM users o
      WHERE u.org = '${other.organisation.organisationId}' AND o.org = '${one.organisation.organisationId}'`)
    const ask = askWith(one.cookie)
    const read = async (headers: Record<string, string>) => await ask("GET", "/api/v1/me", { headers })
    const mine = await eventually(
      () => read({}),
      ({ body }) => body.data.organisations.length === 2
    )
    assert.strictEqual(mine.body.data.organisation.id, one.organisation.organisationId)
    const theirs = await read({ "x-svc-organization": other.organisation.organisationId })
    assert.deepInclude(theirs.body.data, { spaceId: other.organisation.spaceId })
    const third = await svc.organisation("Third", "growth")
    for (const headers of [
      { "x-svc-organization": third.organisationId },
      { "x-svc-workspace": third.spaceId },
      { "x-svc-workspace": other.organisation.spaceId }
    ] as ReadonlyArray<Record<string, string>>)
      assert.deepInclude(await read(headers), { status: 403 })
    const space = { "x-svc-workspace": one.organisation.spaceId }
    assert.strictEqual((await read(space)).status, 200)
  })

  it("ends when its person is disabled, demoted or signs out", async () => {
    const { cookie, organisation } = await newOwner("Ending")
    const ask = askWith(cookie)
    const until = (status: number, method: string, target: string, more?: Ask) =>
      eventually(
        () => ask(method, target, more),
        (answer) => answer.status === status
      )
    await svc.sql(`UPDATE users SET role_id = (SELECT id FROM roles r WHERE r.org = users.org AND r.name = 'viewer')
      WHERE org = '${organisation.organisationId}'`)
    await until(403, "POST", "/api/v1/customers", { body: { name: "No" } })
    await svc.sql(`UPDATE users SET status = 'disabled' WHERE org = '${organisation.organisationId}'`)
    await until(401, "GET", "/api/v1/me")
    await svc.sql(`UPDATE users SET status = 'active' WHERE org = '${organisation.organisationId}'`)
    await until(200, "GET", "/api/v1/me")
    const out = await svc.ask("POST", "/logout", { raw: "", headers: { cookie, ...form } })
    assert.deepStrictEqual([out.status, cookieOf(out)], [303, "svc_session_3000="])
    await until(401, "GET", "/api/v1/me")
    const [entry] = (await svc.ask("GET", "/api/v1/audit?action=auth.logout", { key: organisation.key })).body.data
    assert.strictEqual(entry.actor.type, "user")
  })

  it("ends after 12 hours without a request, after 7 days, and when its person ends it", async () => {
    const { cookie, organisation } = await newOwner("Idle")
    const ask = askWith(cookie)
    const idle = await ask("GET", "/api/v1/me", { later: "721 minutes" })
    assert.deepStrictEqual([idle.status, idle.body.code], [401, "SESSION_EXPIRED"])
    for (let hours = 10; hours < 168; hours += 10)
      assert.strictEqual((await ask("GET", "/api/v1/me", { later: `${hours} hours` })).status, 200, `${hours}`)
    const old = await ask("GET", "/api/v1/me", { later: "169 hours" })
    assert.deepStrictEqual([old.status, old.body.code], [401, "SESSION_EXPIRED"])

    const another = cookieOf(await open(await newLink(organisation.organisationId)))
    const askOther = askWith(another)
    const sessions = (await askOther("GET", "/api/v1/sessions")).body.data
    const first = sessions.find((one: { current: boolean }) => !one.current)
    assert.strictEqual((await askOther("DELETE", `/api/v1/sessions/${first.id}`)).status, 200)
    assert.strictEqual((await askOther("DELETE", `/api/v1/sessions/${first.id}`)).status, 404)
    const stranger = await newOwner("Stranger")
    const [theirs] = (await askWith(stranger.cookie)("GET", "/api/v1/sessions")).body.data
    assert.strictEqual((await askOther("DELETE", `/api/v1/sessions/${theirs.id}`)).status, 404)
  })

  it("is one of at most 20 of a person: a further one ends the oldest", async () => {
    const { cookie, organisation } = await newOwner("Many")
    for (let n = 0; n < sessionLimits.ofIdentity; n++)
      assert.strictEqual((await open(await newLink(organisation.organisationId))).status, 303)
    const ended = await eventually(
      () => askWith(cookie)("GET", "/api/v1/me"),
      ({ status }) => status === 401
    )
    assert.strictEqual(ended.body.message, "this session has ended: sign in again")
    const [{ n }] = (await svc.sql(`SELECT count(*)::int AS n FROM sessions s JOIN users u USING (identity_id)
      WHERE u.org = '${organisation.organisationId}'`)) as [{ n: number }]
    assert.strictEqual(n, sessionLimits.ofIdentity)
  })

  it("cannot be guessed: beyond the limit of an address, only what may be a session is looked up", async () => {
    const { cookie } = await newOwner("Guessed")
    // In the middle of a later minute, so that all guesses are in one.
    const later = 90_000 - (Date.now() % 60_000)
    const from = "203.0.113.77"
    const guess = async () => {
      const token = `svc_session_3000=${randomBytes(32).toString("base64url")}`
      return (await askWith(token)("GET", "/api/v1/me", { from, later })).status
    }
    const statuses: Array<number> = []
    for (let n = 0; n < refusalLimits.unknownCredentials + 5; n++) statuses.push(await guess())
    assert.deepStrictEqual(statuses.slice(-6), [401, 429, 429, 429, 429, 429])
    assert.strictEqual((await askWith(cookie)("GET", "/api/v1/me", { from, later })).status, 200)
    const mayExist = (token: string) =>
      svc.run(
        Effect.flatMap(Effect.all([Sessions, Digests]), ([sessions, digests]) =>
          sessions.mayExist(digests.keyHash(`session|${token}`))
        )
      )
    assert.isTrue(await mayExist(cookie.split("=")[1] ?? ""))
    assert.isFalse(await mayExist(randomBytes(32).toString("base64url")))
  })

  it("counts its calls for the person, not for the organisation's plan", async () => {
    const { cookie, organisation } = await newOwner("Counted")
    await svc.sql(`UPDATE organisations SET plan = 'starter' WHERE id = '${organisation.organisationId}'`)
    const answers = await eventually(
      () => askWith(cookie)("GET", "/api/v1/me"),
      ({ headers }) => headers["x-ratelimit-limit"] === `${sessionLimits.callsPerMinute}`
    )
    assert.strictEqual(answers.status, 200)
    const buckets = await svc.sql(`SELECT bucket FROM rate_windows WHERE org = '${organisation.organisationId}'`)
    assert.notInclude(JSON.stringify(buckets), '"calls"')
  })
})

describe("the page", () => {
  it("says who is signed in, or how to sign in, and admits only its own script", async () => {
    const { cookie } = await newOwner("Seen")
    const signedIn = await svc.ask("GET", "/login", { headers: { cookie } })
    assert.include(signedIn.text, "You are signed in as owner@localhost")
    const signedOut = await svc.ask("GET", "/login")
    assert.include(signedOut.text, "npm run svc -- console")
    assert.match(signedOut.headers["content-security-policy"] ?? "", /script-src 'nonce-[A-Za-z0-9_-]{22}'/)
    assert.include(signedOut.headers["content-security-policy"], "frame-ancestors 'none'")
    for (const [method, target] of [
      ["PUT", "/login"],
      ["GET", "/logout"]
    ] as const)
      assert.strictEqual((await svc.ask(method, target, { headers: form })).status, 405)
  })
})
