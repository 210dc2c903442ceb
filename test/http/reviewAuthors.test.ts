/**
 * Nobody reviews the own release by a person whom they have invited, or by a key of that person, unless the person has proved to
 * be another. Whoever makes an invitation sees its link.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { type MailService, startWithMail } from "../support/mailService.js"
import { cookieOf, form, signInTo } from "../support/signIn.js"

let service: MailService
let svc: MailService["svc"]
let mailbox: MailService["mailbox"]
beforeAll(async () => {
  service = await startWithMail()
  ;({ mailbox, svc } = service)
})
afterAll(() => service.stop())

const { askWith, newLink, newOwner, open } = signInTo(() => svc)
type AskPerson = ReturnType<typeof askWith>

let addresses = 0
const post = (path: string, fields: Record<string, string>, cookie?: string) =>
  svc.ask("POST", path, {
    raw: new URLSearchParams(fields).toString(),
    from: `198.51.100.${(addresses += 1) % 250}`,
    headers: { ...form, ...(cookie === undefined ? {} : { cookie }) }
  })

const done = ({ body, status, text }: Awaited<ReturnType<AskPerson>>) => {
  assert.isBelow(status, 300, text)
  return body?.data
}

/** Asks as whoever has the key. */
const withKey =
  (key: string): AskPerson =>
  (method, target, more = {}) =>
    svc.ask(method, target, { key, ...more })

const invite = async (as: AskPerson, email: string) => {
  const made = done(await as("POST", "/api/v1/users/invite", { body: { email, role: "admin" } }))
  return { id: String(made.userId), token: new URL(made.inviteUrl).hash.slice("#token=".length) }
}

/** Accepts an invitation by its link. */
const accept = async (token: string) => {
  const accepted = await post("/invite", { token, accept: "anew" })
  assert.strictEqual(accepted.status, 303, accepted.text)
  return askWith(cookieOf(accepted))
}

const inviteAndAccept = async (as: AskPerson, email: string) => {
  const { id, token } = await invite(as, email)
  return { id, ask: await accept(token) }
}

/** Signs in by a mail to the address. */
const signInByMail = async (email: string) => {
  const browser = cookieOf(await post("/login/mail", { email }))
  const mail = await eventually(
    async () =>
      mailbox.messages
        .filter((one) => one.includes(`To: ${email}\r\n`))
        .map((one) => Buffer.from(one.slice(one.indexOf("\r\n\r\n") + 4), "base64").toString())
        .find((one) => one.includes("/login/mail")),
    (found) => found !== undefined
  )
  const token = /#token=([A-Za-z0-9_-]{43})/.exec(mail ?? "")?.[1] ?? assert.fail(mail)
  const page = await post("/login/mail/open", { token }, browser)
  const as = /name="as" value="(idn_\w+)"/.exec(page.text)?.[1] ?? assert.fail(page.text)
  const signedIn = await post("/login/mail/open", { token, as }, browser)
  assert.strictEqual(signedIn.status, 303, signedIn.text)
  return askWith(cookieOf(signedIn))
}

const makeKey = async (as: AskPerson, more: object = {}) =>
  String(
    done(await as("POST", "/api/v1/api-keys", { body: { name: "k", mode: "live", preset: "full_access", ...more } }))
      .key
  )

/** An owner, a reviewed environment, and releases of the organisation's workflow. */
const newReview = async (name: string) => {
  const { cookie, organisation } = await newOwner(name)
  const owner = askWith(cookie)
  const made = await owner("POST", "/api/v1/environments", {
    body: { name: "Reviewed", slug: "reviewed", requiresReview: true }
  })
  const environment = done(made)
  const release = async (as: AskPerson) => {
    const body = { workflows: [{ workflowId: organisation.workflowId, version: 1 }] }
    return String(done(await as("POST", "/api/v1/releases", { body })).id)
  }
  const deploy = (as: AskPerson, id: string) =>
    as("POST", `/api/v1/releases/${id}/deploy`, { body: { environment: environment.slug } })
  const assertRefused = async (as: AskPerson, id: string) => {
    const { body, status, text } = await deploy(as, id)
    assert.deepStrictEqual([status, body.code], [403, "REVIEW_REQUIRED"], text)
  }
  return { assertRefused, deploy, environment, organisation, owner, release }
}

describe("a release", () => {
  it("is not deployed by who was invited by its author, by those whom they invite, or by their keys, nor the other way", async () => {
    const { assertRefused, deploy, environment, owner, release } = await newReview("Accomplices")
    const accomplice = await inviteAndAccept(owner, "accomplice@example.com")
    const further = await inviteAndAccept(withKey(await makeKey(accomplice.ask)), "further@example.com")
    const own = await release(owner)
    const same = [
      accomplice.ask,
      withKey(await makeKey(accomplice.ask)),
      withKey(await makeKey(withKey(await makeKey(accomplice.ask)))),
      further.ask,
      withKey(await makeKey(further.ask))
    ]
    for (const as of same) await assertRefused(as, own)
    const ofAKey = await release(withKey(await makeKey(owner)))
    await assertRefused(further.ask, ofAKey)
    for (const as of same) await assertRefused(owner, await release(as))
    // Nor does an accomplice take the review away.
    const waived = await accomplice.ask("PUT", `/api/v1/environments/${environment.id}`, {
      body: { requiresReview: false }
    })
    assert.deepStrictEqual([waived.status, waived.body.code], [403, "REVIEW_REQUIRED"])
    // Two who were invited by one are that one, until one of them proves to be another.
    const another = await inviteAndAccept(owner, "another@example.com")
    const ofAccomplice = await release(accomplice.ask)
    await assertRefused(another.ask, ofAccomplice)
    const proved = await signInByMail("another@example.com")
    assert.strictEqual((await deploy(proved, ofAccomplice)).status, 200)
  })

  it("is not deployed by the key of an accomplice who was removed", async () => {
    const { assertRefused, owner, release } = await newReview("Removed")
    const accomplice = await inviteAndAccept(owner, "gone@example.com")
    const key = await makeKey(accomplice.ask)
    assert.strictEqual((await owner("DELETE", `/api/v1/users/${accomplice.id}`)).status, 204)
    await assertRefused(withKey(key), await release(owner))
  })

  it("is deployed by who was invited and has signed in by mail since, and not with what was made before", async () => {
    const { assertRefused, deploy, organisation, owner, release } = await newReview("Proved by mail")
    const { ask, id } = await inviteAndAccept(owner, "bob@example.com")
    const [keyBefore, before] = [await makeKey(ask), await release(ask)]
    const own = await release(owner)
    await assertRefused(ask, own)
    const bob = await signInByMail("bob@example.com")
    assert.strictEqual(done(await bob("GET", "/api/v1/me")).id, id)
    await eventually(
      () => ask("GET", "/api/v1/me"),
      ({ status }) => status === 401
    )
    await assertRefused(withKey(keyBefore), own)
    await assertRefused(owner, before)
    const keySince = await makeKey(bob)
    const ofBob = await release(bob)
    assert.strictEqual((await deploy(withKey(keySince), own)).status, 200)
    assert.strictEqual((await deploy(bob, await release(owner))).status, 200)
    assert.strictEqual((await deploy(owner, ofBob)).status, 200)
    // The organisation's first key is of the operator.
    assert.strictEqual((await deploy(withKey(organisation.key), before)).status, 200)
  })

  it("is deployed by who was invited and signs in with the operator's link", async () => {
    const { deploy, organisation, owner, release } = await newReview("Proved by the operator")
    await invite(owner, "cat@example.com")
    const opened = await open(await newLink(organisation.organisationId, "cat@example.com"))
    assert.strictEqual(opened.status, 303, opened.text)
    assert.strictEqual((await deploy(askWith(cookieOf(opened)), await release(owner))).status, 200)
  })
})
