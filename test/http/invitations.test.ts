/** An invitation is accepted once, by its link's button; an address alone links nobody to an identity. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import { findViolations } from "../support/accessibility.js"
import { eventually } from "../support/eventually.js"
import type { Ask } from "../support/InProcess.js"
import { type MailService, startWithMail } from "../support/mailService.js"
import { cookieOf, form, origin, signInTo } from "../support/signIn.js"

let service: MailService
let svc: MailService["svc"]
let mailbox: MailService["mailbox"]
beforeAll(async () => {
  service = await startWithMail()
  ;({ mailbox, svc } = service)
})
afterAll(() => service.stop())

const { askWith, newOwner } = signInTo(() => svc)
type AskPerson = ReturnType<typeof askWith>

let addresses = 0
const post = (raw: string, cookie?: string, more: Ask = {}) =>
  svc.ask("POST", "/invite", {
    raw,
    from: `192.0.2.${(addresses += 1) % 250}`,
    ...more,
    headers: { ...form, ...(cookie === undefined ? {} : { cookie }), ...more.headers }
  })
const accept = (token: string, cookie?: string) =>
  post(`token=${token}&accept=${cookie === undefined ? "anew" : "signed-in"}`, cookie)

const invite = async (ask: AskPerson, email: string, role = "developer") => {
  const { body, status, text } = await ask("POST", "/api/v1/users/invite", { body: { email, role } })
  assert.strictEqual(status, 201, text)
  const [page, token = ""] = body.data.inviteUrl.split("#token=")
  assert.strictEqual(page, `${origin}/invite`)
  return { token, id: body.data.userId, mailed: body.data.mailed }
}

describe("the first owner", () => {
  it("is made by no invitation: only by a link of the command line", async () => {
    const { body } = await svc.ask("POST", "/api/v1/users/invite", {
      key: svc.first.key,
      body: { email: "first@example.com", role: "owner" }
    })
    const token = new URL(body.data.inviteUrl).hash.slice("#token=".length)
    assert.strictEqual((await post(`token=${token}`)).status, 410)
    assert.strictEqual((await accept(token)).status, 410)
    assert.deepStrictEqual(await svc.sql("SELECT id FROM users WHERE status = 'active'"), [])
    await newOwner("With an owner")
    assert.strictEqual((await accept(token)).status, 303)
  })
})

describe("an invitation", () => {
  it("shows what it is to, and signs in by its button, once, also when many press it at the same time", async () => {
    const { cookie, organisation } = await newOwner("Inviting")
    const owner = askWith(cookie)
    const { id, token } = await invite(owner, "ada@example.com")
    const page = await svc.ask("GET", "/invite")
    assert.deepStrictEqual(await findViolations(page.text), [])
    const shown = await post(`token=${token}`)
    assert.include(shown.text, "You are invited to Inviting as ada@example.com, with the role developer.")
    assert.deepStrictEqual(await findViolations(shown.text), [])
    assert.strictEqual((await owner("GET", `/api/v1/users/${id}`)).body.data.status, "invited")
    const answers = await Promise.all(Array.from({ length: 50 }, () => accept(token)))
    assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [303, ...Array(49).fill(410)])
    const accepted = answers.find(({ status }) => status === 303) ?? assert.fail()
    assert.strictEqual(accepted.headers["location"], "/console/")
    const ada = askWith(cookieOf(accepted))
    const me = (await ada("GET", "/api/v1/me")).body.data
    assert.deepInclude(me, { kind: "person", id, email: "ada@example.com" })
    assert.strictEqual((await ada("GET", "/api/v1/sessions")).body.data[0].method, "invitation")
    const trail = await eventually(
      async () => (await svc.ask("GET", `/api/v1/audit?actor_id=${id}`, { key: organisation.key })).body.data,
      (found) => found.length >= 2
    )
    const actions = trail.map(({ action }: { readonly action: string }) => action)
    assert.includeMembers(actions, ["user.accept", "auth.login"])
  })

  it("is linked to the identity of who is signed in", async () => {
    const [mine, theirs] = [await newOwner("Mine"), await newOwner("Theirs")]
    const { token } = await invite(askWith(theirs.cookie), "other@example.com")
    const shown = await post(`token=${token}`, mine.cookie)
    assert.include(shown.text, "Accept as owner@localhost")
    assert.deepStrictEqual(await findViolations(shown.text), [])
    const accepted = await accept(token, mine.cookie)
    assert.deepStrictEqual([accepted.status, accepted.headers["set-cookie"]], [303, undefined])
    const me = await eventually(
      () => askWith(mine.cookie)("GET", "/api/v1/me"),
      ({ body }) => body.data.organisations.length === 2
    )
    assert.strictEqual(me.body.data.email, "owner@localhost")
    // Who is a member already is not one twice.
    const again = await invite(askWith(theirs.cookie), "again@example.com")
    assert.strictEqual((await accept(again.token, mine.cookie)).status, 410)
    assert.strictEqual((await askWith(theirs.cookie)("GET", `/api/v1/users/${again.id}`)).body.data.status, "invited")
  })

  it("of an address that another organisation knows links nothing", async () => {
    const [one, other] = [await newOwner("One"), await newOwner("Other")]
    for (const { cookie } of [one, other]) {
      const { id, token } = await invite(askWith(cookie), "same@example.com")
      const me = (await askWith(cookieOf(await accept(token)))("GET", "/api/v1/me")).body.data
      assert.deepStrictEqual([me.id, me.organisations.length], [id, 1])
    }
    assert.lengthOf(await svc.sql("SELECT id FROM identities WHERE email = 'same@example.com'"), 2)
  })

  it("that is unknown, late, replaced, or of who was disabled or removed signs nobody in", async () => {
    const { cookie, organisation } = await newOwner("Ended")
    const owner = askWith(cookie)
    const late = await invite(owner, "late@example.com")
    await svc.sql(`UPDATE users SET invite_expires_at = now() WHERE id = '${late.id}'`)
    const replaced = await invite(owner, "replaced@example.com")
    const again = await owner("POST", `/api/v1/users/${replaced.id}/invite`)
    assert.deepInclude(again.body.data, { status: "invited", mailed: false })
    const disabled = await invite(owner, "disabled@example.com")
    await owner("PUT", `/api/v1/users/${disabled.id}`, { body: { status: "disabled" } })
    const removed = await invite(owner, "removed@example.com")
    await owner("DELETE", `/api/v1/users/${removed.id}`)
    const unknown = { token: randomBytes(32).toString("base64url") }
    for (const { token } of [late, replaced, disabled, removed, unknown]) {
      assert.strictEqual((await post(`token=${token}`)).status, 410)
      assert.strictEqual((await accept(token)).status, 410)
      assert.strictEqual((await accept(token, cookie)).status, 410)
    }
    for (const raw of ["", "token=", "accept=anew", `token=${"x".repeat(2_000)}`])
      assert.strictEqual((await post(raw)).status, 410)
    const entries = await eventually(
      async () =>
        (
          await svc.ask("GET", "/api/v1/audit?action=auth.login_failed", {
            key: organisation.key,
            later: "61 seconds"
          })
        ).body.data,
      (found) => found.length >= 2
    )
    assert.deepStrictEqual(
      new Set(entries.map((one: { changes: [{ after: string }] }) => one.changes[0].after)),
      new Set(["INVITATION_EXPIRED"])
    )
  })

  it("is accepted from the service's own page only, as the button said, and is not guessed", async () => {
    const { cookie } = await newOwner("Guarded")
    const { token } = await invite(askWith(cookie), "guarded@example.com")
    for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }])
      assert.strictEqual((await post(`token=${token}&accept=anew`, undefined, { headers })).status, 403)
    // Somebody signed in or out since the button was shown: it is asked again.
    assert.include((await post(`token=${token}&accept=anew`, cookie)).text, "Accept as owner@localhost")
    assert.include((await post(`token=${token}&accept=signed-in`)).text, "Accept and sign in")
    assert.strictEqual((await svc.ask("PUT", "/invite", { headers: form, raw: "" })).status, 405)
    const from = "203.0.113.50"
    const statuses: Array<number> = []
    for (let n = 0; n < 21; n++) {
      const guess = randomBytes(32).toString("base64url")
      statuses.push((await post(`token=${guess}&accept=anew`, undefined, { from })).status)
    }
    assert.include(statuses, 429)
    assert.strictEqual((await accept(token)).status, 303)
  })

  it("is sent by mail as a link that opens the page, once an hour for an address, without a text of the organisation", async () => {
    const { cookie } = await newOwner("Mailing Canary")
    const owner = askWith(cookie)
    const { id, mailed, token } = await invite(owner, "mailed@example.com")
    assert.isTrue(mailed)
    const text = await eventually(
      async () => mailbox.messages.find((one) => one.includes("To: mailed@example.com\r\n")) ?? "",
      (found) => found !== ""
    )
    const content = Buffer.from(text.slice(text.indexOf("\r\n\r\n") + 4), "base64").toString()
    assert.include(content, `${origin}/invite#token=${token}`)
    assert.notInclude(`${text}${content}`, "Canary")
    const again = await owner("POST", `/api/v1/users/${id}/invite`)
    assert.isFalse(again.body.data.mailed)
    await owner("DELETE", `/api/v1/users/${id}`)
    assert.isFalse((await invite(owner, "Mailed@example.com")).mailed)
  })
})

describe("the page to go to after signing in", () => {
  it("is one of the console, whatever the link says", async () => {
    const { cookie } = await newOwner("Next")
    const linkTo = async (next: string) => {
      const page = await svc.ask("GET", `/login?next=${encodeURIComponent(next)}`, { headers: { cookie } })
      return /<a href="([^"]*)">Go to the console/.exec(page.text)?.[1]
    }
    assert.strictEqual(await linkTo("/console/runs?status=failed"), "/console/runs?status=failed")
    for (const next of [
      "https://evil.example",
      "//evil.example",
      "/\\evil.example",
      "/console/../api/v1/me",
      "/console/%2e%2e/x",
      "/console/..\\x",
      "/consolex",
      "javascript:alert(1)",
      "/console/\n/x",
      `/console/${"x".repeat(3_000)}`
    ])
      assert.strictEqual(await linkTo(next), "/console/", next)
  })
})
