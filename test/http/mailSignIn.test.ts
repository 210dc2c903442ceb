/** People sign in by mail: once, in the browser that asked; an unknown address is answered as any other. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import { sessionLimits } from "../../src/domain/access/Session.js"
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

const { askWith, newLink, newOwner, open: openLink } = signInTo(() => svc)

let addresses = 0
const post = (path: string, fields: Record<string, string>, cookie?: string, more: Ask = {}) =>
  svc.ask("POST", path, {
    raw: new URLSearchParams(fields).toString(),
    from: `192.0.2.${(addresses += 1) % 250}`,
    ...more,
    headers: { ...form, ...(cookie === undefined ? {} : { cookie }), ...more.headers }
  })
const ask = (email: string, fields: Record<string, string> = {}, more: Ask = {}) =>
  post("/login/mail", { email, ...fields }, undefined, more)

/** The mails with links to sign in, to an address. */
const mailsTo = (address: string) =>
  mailbox.messages
    .filter((one) => one.includes(`To: ${address}\r\n`))
    .map((one) => Buffer.from(one.slice(one.indexOf("\r\n\r\n") + 4), "base64").toString())
    .filter((content) => content.includes("/login/mail"))
const nthMail = async (address: string, nth: number) =>
  (
    await eventually(
      async () => mailsTo(address),
      (found) => found.length >= nth
    )
  )[nth - 1] ?? assert.fail()
const tokenIn = (mail: string) => /#token=([A-Za-z0-9_-]{43})/.exec(mail)?.[1] ?? assert.fail(mail)
/** The buttons of a page: the identities that it offers. */
const offered = (text: string) => [...text.matchAll(/name="as" value="(idn_\w+)"/g)].map(([, id = ""]) => id)
const codeIn = (text: string) =>
  /<blockquote>([A-Z2-9]{4}-[A-Z2-9]{4})<\/blockquote>/.exec(text)?.[1] ?? assert.fail(text)

/** A person with an address, who has accepted an invitation. */
const newPerson = async (organisation: string, email: string) => {
  const owner = await newOwner(organisation)
  const invited = await askWith(owner.cookie)("POST", "/api/v1/users/invite", { body: { email, role: "viewer" } })
  assert.strictEqual(invited.status, 201, invited.text)
  const session = cookieOf(await openLink(await newLink(owner.organisation.organisationId, email)))
  return { ...owner, id: invited.body.data.userId as string, session }
}

/** Asks for a mail; returns the browser's cookie and the token of its link. */
const asked = async (email: string, nth = 1) => {
  const answer = await ask(email)
  assert.strictEqual(answer.status, 200, answer.text)
  return { browser: cookieOf(answer), token: tokenIn(await nthMail(email, nth)) }
}
const choose = async (token: string, cookie?: string) =>
  offered((await post("/login/mail/open", { token }, cookie)).text)
const press = (token: string, as: string, cookie?: string) => post("/login/mail/open", { token, as }, cookie)
const enter = (code: string, cookie: string, more: Ask = {}) => post("/login/mail/code", { code }, cookie, more)

describe("a mail", () => {
  it("signs in by its button in the browser that asked, once, also when many press it at the same time", async () => {
    const { id } = await newPerson("Mailed once", "once@example.com")
    const page = await svc.ask("GET", "/login?next=/console/runs")
    assert.include(page.text, `name="email"`)
    assert.deepStrictEqual(await findViolations(page.text), [])
    const asking = await ask("Once@example.com", { next: "/console/runs" })
    assert.match(
      asking.headers["set-cookie"] ?? "",
      /^svc_sign_in_3000=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=900; HttpOnly; SameSite=Lax$/
    )
    assert.deepStrictEqual(await findViolations(asking.text), [])
    const browser = cookieOf(asking)
    const mail = await nthMail("Once@example.com", 1)
    assert.include(mail, `${origin}/login/mail?next=%2Fconsole%2Fruns#token=`)
    const token = tokenIn(mail)
    const opened = await svc.ask("GET", "/login/mail?next=%2Fconsole%2Fruns", { headers: { cookie: browser } })
    assert.deepStrictEqual(await findViolations(opened.text), [])
    const shown = await post("/login/mail/open", { token, next: "/console/runs" }, browser)
    assert.deepStrictEqual(await findViolations(shown.text), [])
    const [identity = ""] = offered(shown.text)
    const fields = { token, next: "/console/runs", as: identity }
    const answers = await Promise.all(Array.from({ length: 50 }, () => post("/login/mail/open", fields, browser)))
    assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [303, ...Array(49).fill(410)])
    const signedIn = answers.find(({ status }) => status === 303) ?? assert.fail()
    assert.strictEqual(signedIn.headers["location"], "/console/runs")
    const person = askWith(cookieOf(signedIn))
    assert.strictEqual((await person("GET", "/api/v1/me")).body.data.id, id)
    assert.strictEqual((await person("GET", "/api/v1/sessions")).body.data[0].method, "email")
  })

  it("opened in another browser shows a code, which signs in only where it was asked for, once", async () => {
    const { id } = await newPerson("Mailed elsewhere", "elsewhere@example.com")
    const { browser, token } = await asked("elsewhere@example.com")
    // Somebody else has asked, too.
    const stranger = cookieOf(await ask("nobody@example.com"))
    const [identity = ""] = await choose(token, stranger)
    const shown = await press(token, identity, stranger)
    assert.deepStrictEqual([shown.status, shown.headers["set-cookie"]], [200, undefined])
    assert.deepStrictEqual(await findViolations(shown.text), [])
    const code = codeIn(shown.text)
    assert.strictEqual((await press(token, identity, browser)).status, 410)
    assert.strictEqual((await press(token, identity)).status, 410)
    assert.strictEqual((await enter(code, stranger)).status, 422)
    assert.strictEqual((await post("/login/mail/code", { code })).status, 410)
    const wrong = await enter("AAAA-AAAA", browser)
    assert.strictEqual(wrong.status, 422)
    assert.deepStrictEqual(await findViolations(wrong.text), [])
    const typed = ` ${code.toLowerCase().replace("-", " ")}`
    const answers = await Promise.all([enter(typed, browser), enter(typed, browser)])
    assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [303, 422])
    const signedIn = answers.find(({ status }) => status === 303) ?? assert.fail()
    assert.strictEqual((await askWith(cookieOf(signedIn))("GET", "/api/v1/me")).body.data.id, id)
  })

  it("has a code that cannot be guessed", async () => {
    await newPerson("Mailed guesses", "guesses@example.com")
    const { browser, token } = await asked("guesses@example.com")
    const [identity = ""] = await choose(token)
    const code = codeIn((await press(token, identity)).text)
    for (let n = 0; n < sessionLimits.codeTries; n++)
      assert.strictEqual((await enter("BBBB-BBBB", browser)).status, 422)
    assert.strictEqual((await enter(code, browser)).status, 422)
  })

  it("that is late, unknown, or of who was disabled or removed signs nobody in, and is told of", async () => {
    const { cookie, id, organisation } = await newPerson("Mailed late", "late@example.com")
    const late = await asked("late@example.com")
    const [identity = ""] = await choose(late.token, late.browser)
    await svc.sql(`UPDATE mail_sign_ins SET expires_at = now() WHERE email = 'late@example.com'`)
    assert.deepStrictEqual(await choose(late.token, late.browser), [])
    assert.strictEqual((await press(late.token, identity, late.browser)).status, 410)
    assert.strictEqual((await enter("AAAAAAAA", late.browser)).status, 422)
    const guess = randomBytes(32).toString("base64url")
    assert.strictEqual((await press(guess, identity, late.browser)).status, 410)
    const wrong = await asked("late@example.com", 2)
    const stranger = await newPerson("Mailed stranger", "stranger@example.com")
    const [{ identity_id: foreign = "" } = {}] = (await svc.sql(
      `SELECT identity_id FROM users WHERE id = '${stranger.id}'`
    )) as ReadonlyArray<{ readonly identity_id?: string }>
    assert.strictEqual((await press(wrong.token, foreign, wrong.browser)).status, 410)
    const disabled = await asked("late@example.com", 3)
    await askWith(cookie)("PUT", `/api/v1/users/${id}`, { body: { status: "disabled" } })
    assert.strictEqual((await press(disabled.token, identity, disabled.browser)).status, 410)
    assert.strictEqual((await press(disabled.token, identity)).status, 410)
    const reasons = await eventually(
      async () =>
        (
          await svc.ask("GET", `/api/v1/audit?action=auth.login_failed&actor_id=${id}`, {
            key: organisation.key,
            later: "61 seconds"
          })
        ).body.data.map(({ changes: [{ after }] }: { readonly changes: [{ readonly after: string }] }) => after),
      (found) => found.length >= 2
    )
    assert.sameMembers([...new Set(reasons)], ["LINK_EXPIRED", "NO_PERSON"])
  })

  it("is asked for and used from the service's own pages only", async () => {
    for (const path of ["/login/mail", "/login/mail/open", "/login/mail/code"]) {
      const foreign = await post(path, { email: "x@example.com" }, undefined, {
        headers: { origin: "https://evil.example" }
      })
      assert.strictEqual(foreign.status, 403, path)
    }
    assert.strictEqual((await svc.ask("GET", "/login/mail/open")).status, 405)
    for (const email of ["", "x", "a b@example.com", "a@b@c", `${"x".repeat(300)}@example.com`]) {
      const refused = await ask(email)
      assert.strictEqual(refused.status, 422, email)
      assert.deepStrictEqual(await findViolations(refused.text), [])
    }
  })
})

describe("an address", () => {
  it("that is nobody's gets the same answer, and no mail", async () => {
    await newPerson("Known", "known@example.com")
    const answers = [await ask("known@example.com"), await ask("nobody.at.all@example.com")]
    const [known = "", unknown = ""] = answers.map(({ headers, status, text }) => {
      const told = text.replaceAll(/nonce="[^"]*"/g, "").replaceAll(/\b[\w.]+@example\.com/g, "@")
      return JSON.stringify([status, told, Object.keys(headers).toSorted()])
    })
    assert.strictEqual(known, unknown)
    await nthMail("known@example.com", 1)
    assert.lengthOf(mailsTo("nobody.at.all@example.com"), 0)
    const codes = await Promise.all(answers.map((answer) => enter("AAAA-AAAA", cookieOf(answer))))
    const [one, other] = codes.map(({ status, text }) =>
      JSON.stringify([status, text.replaceAll(/nonce="[^"]*"/g, "")])
    )
    assert.strictEqual(one, other)
  })

  it("of who was invited and has not accepted, or signs in at a provider, gets none", async () => {
    const { cookie, id } = await newPerson("Of a provider", "provider@example.com")
    await askWith(cookie)("POST", "/api/v1/users/invite", { body: { email: "invited@example.com", role: "viewer" } })
    await svc.sql(`UPDATE identities SET issuer = 'https://id.example', subject = 'x'
      WHERE id = (SELECT identity_id FROM users WHERE id = '${id}')`)
    await ask("invited@example.com")
    await ask("provider@example.com")
    await newPerson("Of a mail", "after@example.com")
    await asked("after@example.com")
    assert.lengthOf(mailsTo("provider@example.com"), 0)
    assert.lengthOf(mailsTo("invited@example.com"), 0)
  })

  it("gets a limited number of mails, and is asked for a limited number of times", async () => {
    await newPerson("Flooded", "flooded@example.com")
    const statuses: Array<number> = []
    for (let n = 0; n <= sessionLimits.triesPerMinute; n++) statuses.push((await ask("flooded@example.com")).status)
    // The minute may change meanwhile.
    assert.isAtLeast(statuses.filter((one) => one === 200).length, sessionLimits.triesPerMinute)
    await nthMail("flooded@example.com", sessionLimits.mailsToAddress)
    await newPerson("After the flood", "later@example.com")
    await asked("later@example.com")
    assert.lengthOf(mailsTo("flooded@example.com"), sessionLimits.mailsToAddress)
  })

  it("of several identities lets choose among them, and links none", async () => {
    const [one, other] = [
      await newPerson("First of two", "two@example.com"),
      await newPerson("Second of two", "two@example.com")
    ]
    const { browser, token } = await asked("two@example.com")
    const shown = await post("/login/mail/open", { token }, browser)
    assert.include(shown.text, "First of two")
    assert.include(shown.text, "Second of two")
    const [, second = ""] = offered(shown.text)
    const me = (await askWith(cookieOf(await press(token, second, browser)))("GET", "/api/v1/me")).body.data
    assert.deepStrictEqual([me.id, me.organisations.length], [other.id, 1])
    assert.notStrictEqual(me.id, one.id)
  })

  it("that is proved for the first time ends the sessions of whoever used it before", async () => {
    const { id, session } = await newPerson("Proved", "proved@example.com")
    const before = askWith(session)
    assert.strictEqual((await before("GET", "/api/v1/me")).status, 200)
    const signIn = async (nth: number) => {
      const { browser, token } = await asked("proved@example.com", nth)
      const [identity = ""] = await choose(token, browser)
      return askWith(cookieOf(await press(token, identity, browser)))
    }
    const first = await signIn(1)
    await eventually(
      () => before("GET", "/api/v1/me"),
      ({ status }) => status === 401
    )
    await signIn(2)
    assert.strictEqual((await first("GET", "/api/v1/me")).body.data.id, id)
  })
})
