/** People sign in at the operator's provider: nobody by a forged, replayed, foreign or late answer, or an unverified address. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import { findViolations } from "../support/accessibility.js"
import { eventually } from "../support/eventually.js"
import { type Ask, type Running, start } from "../support/InProcess.js"
import { announce } from "../support/LogExpectations.js"
import { type Claims, type OpenidProvider, startOpenidProvider } from "../support/openidProvider.js"
import { cookieOf, form, origin, signInTo } from "../support/signIn.js"

const settingsOf = ({ url }: OpenidProvider) => ({
  SVC_PUBLIC_URL: origin,
  SVC_EGRESS_ALLOW: "127.0.0.1/32",
  SVC_OIDC_ISSUER: url,
  SVC_OIDC_CLIENT_ID: "svc",
  SVC_OIDC_CLIENT_SECRET: "canary_secret",
  SVC_OIDC_JOIN: "joined:joined.example:viewer,other-joined:joined.example:developer"
})

let provider: OpenidProvider
let svc: Running
beforeAll(async () => {
  provider = await startOpenidProvider(["svc", "canary_secret"])
  svc = await start(settingsOf(provider))
})
afterAll(async () => {
  await svc.stop()
  await provider.close()
})

const { askWith, newOwner } = signInTo(() => svc)

let addresses = 0
const ask = (method: string, target: string, { headers, ...more }: Ask = {}) =>
  svc.ask(method, target, { from: `192.0.2.${(addresses += 1) % 250}`, ...more, headers: { ...headers } })

let subjects = 0
/** A person whom the provider knows. */
const newPerson = (email: string, more: Claims = {}): Claims => ({
  sub: `subject-${(subjects += 1)}`,
  email,
  email_verified: true,
  name: "Ada",
  ...more
})

/** Begins a sign-in: the browser's cookie, and the address at the provider. */
const begin = async (next = "/console/") => {
  const started = await ask("GET", `/auth/oidc/start?next=${encodeURIComponent(next)}`)
  assert.strictEqual(started.status, 303, started.text)
  return { browser: cookieOf(started), url: started.headers["location"] ?? "" }
}
const comeBack = (back: URL, browser: string, session?: string) =>
  ask("GET", `${back.pathname}${back.search}`, {
    headers: { cookie: session === undefined ? browser : `${browser}; ${session}` }
  })
const signIn = async (person: Claims, next?: string) => {
  const { browser, url } = await begin(next)
  return await comeBack(provider.consent(url, person), browser)
}
/** Presses a button whose page leads to the provider. */
const press = async (fields: Record<string, string>, session = "") => {
  const shown = await ask("POST", "/auth/oidc/start", {
    raw: new URLSearchParams(fields).toString(),
    headers: { ...form, ...(session === "" ? {} : { cookie: session }) }
  })
  const url = /<a href="([^"]*)">Continue/.exec(shown.text)?.[1]?.replaceAll("&amp;", "&")
  return { status: shown.status, text: shown.text, browser: cookieOf(shown), url: url ?? "" }
}

const invite = async (cookie: string, email: string) => {
  const { body } = await askWith(cookie)("POST", "/api/v1/users/invite", { body: { email, role: "developer" } })
  return { token: new URL(body.data.inviteUrl).hash.slice("#token=".length), id: body.data.userId as string }
}
/** Signs in a new person with an invitation. */
const newMember = async (organisation: string, person: Claims) => {
  const owner = await newOwner(organisation)
  const { id, token } = await invite(owner.cookie, "invited@example.com")
  const { browser, url } = await press({ token })
  const accepted = await comeBack(provider.consent(url, person), browser)
  assert.strictEqual(accepted.status, 303, accepted.text)
  return { ...owner, id, session: cookieOf(accepted) }
}

describe("a person of the provider", () => {
  it("accepts an invitation, and signs in from then on, with PKCE, state and nonce", async () => {
    const person = newPerson("ada@example.com")
    const { id, session } = await newMember("Of a provider", person)
    assert.deepInclude((await askWith(session)("GET", "/api/v1/me")).body.data, {
      id,
      kind: "person",
      email: "ada@example.com"
    })
    const { url } = await begin()
    const asked = new URL(url).searchParams
    assert.strictEqual(asked.get("redirect_uri"), `${origin}/auth/oidc/callback`)
    assert.strictEqual(asked.get("code_challenge_method"), "S256")
    for (const name of ["state", "nonce", "code_challenge"]) assert.isAtLeast(asked.get(name)?.length ?? 0, 43, name)
    // Another address at the provider is the same person.
    const again = await signIn({ ...person, email: "ada.new@example.com" }, "/console/runs?x=1")
    assert.deepStrictEqual([again.status, again.headers["location"]], [303, "/console/runs?x=1"])
    const me = askWith(cookieOf(again))
    assert.deepInclude((await me("GET", "/api/v1/me")).body.data, { id, email: "ada.new@example.com" })
    assert.strictEqual((await me("GET", "/api/v1/sessions")).body.data[0].method, "oidc")
    assert.notInclude(JSON.stringify(await svc.sql("SELECT * FROM oidc_sign_ins")), cookieOf(again).split("=")[1] ?? "")
  })

  it("who is not invited, or has the address of somebody else, is nobody here", async () => {
    const { cookie } = await newOwner("Not invited")
    await invite(cookie, "known@example.com")
    const refused = await signIn(newPerson("known@example.com"))
    assert.strictEqual(refused.status, 403)
    assert.deepStrictEqual(await findViolations(refused.text), [])
    assert.lengthOf(await svc.sql("SELECT id FROM identities WHERE email = 'known@example.com'"), 0)
    assert.strictEqual((await signIn(newPerson("owner@localhost"))).status, 403)
  })

  it("joins the organisations of the domain once, with the role, but for those that know the address", async () => {
    const [joined, other] = [await newOwner("Joined"), await newOwner("Other joined")]
    await invite(other.cookie, "Second@joined.example")
    const first = await signIn(newPerson("first@JOINED.example"))
    assert.strictEqual(first.status, 303, first.text)
    const me = (await askWith(cookieOf(first))("GET", "/api/v1/me")).body.data
    assert.sameMembers(
      me.organisations.map((one: { readonly id: string }) => one.id),
      [joined.organisation.organisationId, other.organisation.organisationId]
    )
    const second = newPerson("second@joined.example")
    const answers = await Promise.all([signIn(second), signIn(second)])
    assert.deepStrictEqual(
      answers.map(({ status }) => status),
      [303, 303]
    )
    const theirs = (await askWith(cookieOf(answers[0] ?? assert.fail()))("GET", "/api/v1/me")).body.data
    assert.lengthOf(theirs.organisations, 1)
    const listed = await askWith(joined.cookie)("GET", "/api/v1/users?q=second@joined")
    assert.lengthOf(listed.body.data, 1)
    for (const email of ["x@sub.joined.example", "x@joined.example.evil.example", "joined.example@evil.example"])
      assert.strictEqual((await signIn(newPerson(email))).status, 403, email)
    // Who is disabled stays out.
    await askWith(joined.cookie)("PUT", `/api/v1/users/${listed.body.data[0].id}`, { body: { status: "disabled" } })
    assert.strictEqual((await signIn(second)).status, 403)
  })

  it("is linked to who is signed in and asks for it", async () => {
    const { cookie } = await newOwner("Linking")
    const person = newPerson("linked@example.com")
    const page = await svc.ask("GET", "/login", { headers: { cookie } })
    assert.include(page.text, "Also sign in at 127.0.0.1")
    assert.deepStrictEqual(await findViolations(page.text), [])
    const { browser, url } = await press({ link: "yes" }, cookie)
    // Not by a sign-in that was begun for something else, or by another session.
    const stranger = await newOwner("Strange")
    const consented = provider.consent(url, person)
    assert.strictEqual((await comeBack(consented, browser)).status, 410)
    assert.strictEqual((await comeBack(consented, browser, stranger.cookie)).status, 410)
    const linked = await comeBack(consented, browser, cookie)
    assert.deepStrictEqual([linked.status, linked.headers["location"]], [303, "/console/"])
    const me = (await askWith(cookieOf(await signIn(person)))("GET", "/api/v1/me")).body.data
    const owner = (await askWith(cookie)("GET", "/api/v1/me")).body.data
    assert.strictEqual(me.id, owner.id)
    // Once, and nobody takes the person of another.
    const theirs = await press({ link: "yes" }, stranger.cookie)
    assert.strictEqual(
      (await comeBack(provider.consent(theirs.url, person), theirs.browser, stranger.cookie)).status,
      409
    )
    assert.strictEqual((await press({ link: "yes" })).status, 401)
  })
})

describe("nobody signs in", () => {
  const person = newPerson("certain@example.com")
  const refused = async (
    status: number,
    answer: Promise<{ status: number; headers: Record<string, string>; text: string }>
  ) => {
    const { headers, status: found, text } = await answer
    assert.deepStrictEqual([found, headers["set-cookie"]], [status, undefined], text)
  }
  beforeAll(async () => {
    await newMember("Certain", person)
  })

  it("by an answer of another browser, a state that was not begun, a second time, or too late", async () => {
    const mine = await begin()
    const back = provider.consent(mine.url, person)
    const theirs = await begin()
    await refused(410, comeBack(back, theirs.browser))
    await refused(410, comeBack(back, ""))
    const forged = new URL(back)
    forged.searchParams.set("state", randomBytes(32).toString("hex"))
    await refused(410, comeBack(forged, mine.browser))
    assert.strictEqual((await comeBack(back, mine.browser)).status, 303)
    await refused(410, comeBack(back, mine.browser))
    const late = await begin()
    await svc.sql("UPDATE oidc_sign_ins SET expires_at = now()")
    await refused(410, comeBack(provider.consent(late.url, person), late.browser))
  })

  it("by a code of another sign-in, of nobody, or that the provider refuses", async () => {
    const [one, other] = [await begin(), await begin()]
    const back = provider.consent(one.url, person)
    back.searchParams.set("code", provider.consent(other.url, person).searchParams.get("code") ?? "")
    await refused(403, comeBack(back, one.browser))
    const unknown = await begin()
    const nothing = provider.consent(unknown.url, person)
    nothing.searchParams.set("code", "guessed")
    await refused(403, comeBack(nothing, unknown.browser))
    const denied = await begin()
    const state = new URL(denied.url).searchParams.get("state") ?? ""
    const query = new URLSearchParams({ state, error: "access_denied", iss: provider.url })
    await refused(403, comeBack(new URL(`${origin}/auth/oidc/callback?${query}`), denied.browser))
    const foreign = await begin()
    const elsewhere = provider.consent(foreign.url, person)
    elsewhere.searchParams.set("iss", "https://evil.example")
    await refused(403, comeBack(elsewhere, foreign.browser))
  })

  it("by an ID token that is forged, foreign, old or of another sign-in", async () => {
    const now = Math.floor(Date.now() / 1000)
    for (const claims of [
      { nonce: "another" },
      { nonce: undefined },
      { iss: "https://evil.example" },
      { aud: "another" },
      { aud: ["svc", "another"], azp: "another" },
      { exp: now - 3_600, iat: now - 7_200 },
      { sub: undefined }
    ] as ReadonlyArray<Claims>) {
      provider.lies.claims = claims
      await refused(403, signIn(person))
    }
    provider.lies.claims = {}
    for (const signature of ["foreign", "none"] as const) {
      provider.lies.signature = signature
      await refused(403, signIn(person))
    }
    provider.lies.signature = "own"
    assert.strictEqual((await signIn(person)).status, 303)
  })

  it("with an address that is not verified, or none", async () => {
    for (const claims of [
      { email_verified: false },
      { email_verified: undefined },
      { email_verified: "true" },
      { email: "no address" },
      { email: 7 }
    ] as ReadonlyArray<Claims>) {
      provider.lies.claims = claims
      await refused(403, signIn(person))
    }
    provider.lies.claims = {}
    await refused(403, signIn({ sub: person["sub"] }))
    provider.lies.inUserInfo = true
    await refused(403, signIn({ ...person, email_verified: false }))
    assert.strictEqual((await signIn(person)).status, 303)
    provider.lies.inUserInfo = false
  })

  it("while the provider is in trouble, and the answer says so", async () => {
    const { browser, url } = await begin()
    const back = provider.consent(url, person)
    provider.lies.status = 500
    await refused(403, comeBack(back, browser))
    provider.lies.status = 200
  })

  it("from other pages by a form, and too often", async () => {
    const foreign = await ask("POST", "/auth/oidc/start", {
      raw: "link=yes",
      headers: { ...form, origin: "https://evil.example" }
    })
    assert.strictEqual(foreign.status, 403)
    const statuses: Array<number> = []
    for (let n = 0; n < 21; n++)
      statuses.push((await svc.ask("GET", "/auth/oidc/callback?code=x&state=y", { from: "203.0.113.91" })).status)
    assert.include(statuses, 429)
    const elsewhere = await signIn(person, "https://evil.example")
    assert.strictEqual(elsewhere.headers["location"], "/console/")
  })
})

describe("a service whose people sign in at the provider only", () => {
  it("has no other way in but the link of the command line, and says when the provider is away", async () => {
    const strict = await startOpenidProvider(["svc", "canary_secret"])
    const only = await start({
      ...settingsOf(strict),
      SVC_OIDC_ONLY: "true",
      SVC_SMTP_URL: "smtp://127.0.0.1:1?from=svc@example.com"
    })
    try {
      const of = signInTo(() => only)
      const { cookie } = await of.newOwner("Only")
      const page = await only.ask("GET", "/login")
      assert.include(page.text, "Sign in at 127.0.0.1")
      assert.notInclude(page.text, 'name="email"')
      assert.strictEqual(
        (await only.ask("POST", "/login/mail", { raw: "email=a@b.example", headers: form })).status,
        404
      )
      const made = await of.askWith(cookie)("POST", "/api/v1/users/invite", {
        body: { email: "x@example.com", role: "viewer" }
      })
      const token = new URL(made.body.data.inviteUrl).hash.slice("#token=".length)
      const shown = await only.ask("POST", "/invite", { raw: `token=${token}`, headers: form })
      assert.include(shown.text, "Accept and sign in at 127.0.0.1")
      assert.deepStrictEqual(await findViolations(shown.text), [])
      const anew = await only.ask("POST", "/invite", { raw: `token=${token}&accept=anew`, headers: form })
      assert.strictEqual(anew.status, 410)
      strict.lies.status = 500
      announce(/oidc\.away/)
      announce(/sign_in_mail\.failed/)
      await eventually(
        () => only.ask("GET", "/auth/oidc/start", { from: "203.0.113.92" }),
        ({ status }) => status === 502
      )
    } finally {
      await only.stop()
      await strict.close()
    }
  })
})
