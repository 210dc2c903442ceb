import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import {
  coolDownMillis,
  isDue,
  isGrantLost,
  isUsable,
  marginMillis,
  nextCheckAt,
  decideRecovery
} from "../../../src/domain/connection/Refresh.js"
import {
  credentialOf,
  credentialText,
  credentialFingerprint,
  credentialMembers
} from "../../../src/domain/connection/Credential.js"

const second = 1_000
const hour = 3_600 * second
const token = (lifetimeMillis: number) => ({ issuedAt: 0, expiresAt: lifetimeMillis })

describe("the margin of a refresh", () => {
  it("is the connector's, but never more than a fifth of the token's life", () => {
    assert.strictEqual(marginMillis(900, token(24 * hour)), 900 * second)
    assert.strictEqual(marginMillis(900, token(hour)), 720 * second)
    assert.strictEqual(marginMillis(900, token(60 * second)), 12 * second)
  })
  it("makes a token due once: a fresh one never is", () => {
    for (const life of [10 * second, 60 * second, hour, 24 * hour]) {
      assert.isFalse(isDue(token(life), 900, 0))
      assert.isTrue(isDue(token(life), 900, life))
    }
  })
  it("a token with thirty seconds to live serves one more call", () => {
    assert.isTrue(isUsable(token(60 * second), 30 * second))
    assert.isFalse(isUsable(token(60 * second), 30 * second + 1))
  })
})

describe("a failed refresh", () => {
  const failure = (status: number | null, code: string | null = null) => ({
    status,
    codes: code === null ? [] : [code],
    message: ""
  })
  it.each([
    [400, "invalid_grant", true],
    [401, "invalid_grant", true],
    [400, "unauthorized_client", true],
    [403, "access_denied", true],
    [400, "invalid_request", false],
    [401, "invalid_client", false],
    [400, "bad_refresh_token", true],
    [400, "BAD_REFRESH_TOKEN", true],
    [401, "invalid_refresh_token", true],
    [500, "invalid_grant", false],
    [404, "invalid_grant", false],
    [429, null, false],
    [503, null, false],
    [null, null, false]
  ] as const)("%s %s: lost is %s", (status, code, lost) =>
    assert.strictEqual(isGrantLost(failure(status, code), []), lost)
  )
  it("is also lost by a code that the connector names, as the provider writes it", () => {
    for (const [status, code, lost] of [
      [400, "invalid_code", true],
      [404, "invalid_code", true],
      [400, "INVALID_CODE", false],
      [400, "invalid_client", false],
      [503, "invalid_code", false],
      [400, "invalid_grant", true]
    ] as const)
      assert.strictEqual(isGrantLost(failure(status, code), ["invalid_code"]), lost, `${status} ${code}`)
  })
  it("cools down for 30 s, 2 min, 10 min, and then 30 min each time", () =>
    assert.deepStrictEqual(
      [1, 2, 3, 4, 5, 100].map((n) => coolDownMillis(n) / second),
      [30, 120, 600, 1800, 1800, 1800]
    ))
})

describe("the sweep", () => {
  const renewable = { ...token(hour), renewable: true }
  it("refreshes used tokens before they expire, and idle ones once a day", () => {
    assert.strictEqual(nextCheckAt(renewable, 900, true, 0), hour - 720 * second)
    assert.strictEqual(nextCheckAt(renewable, 900, false, 0), 24 * hour)
    assert.strictEqual(nextCheckAt({ ...renewable, expiresAt: null }, 900, true, 0), 24 * hour)
  })
  it("checks tokens that cannot be refreshed when they expire, and never those that do not expire", () => {
    assert.strictEqual(nextCheckAt({ ...renewable, renewable: false }, 900, true, 0), hour)
    assert.isNull(nextCheckAt({ issuedAt: 0, expiresAt: null, renewable: false }, 900, true, 0))
  })
})

describe("an intent of a dead owner", () => {
  const held = { refreshSeq: 4, tokenHash: "a" }
  const intent = { refreshSeq: 5, tokenHash: "a", attempt: 1, process: "b", at: 0 }
  const at = (now: number) => ({ isInHand: false, now })
  it("is waited for as long as its request may take, then retried once", () => {
    assert.strictEqual(decideRecovery(intent, held, at(22_999))._tag, "Wait")
    assert.strictEqual(decideRecovery(intent, held, at(23_000))._tag, "Retry")
  })
  it("is never retried twice", () =>
    assert.strictEqual(decideRecovery({ ...intent, attempt: 2 }, held, at(23_000))._tag, "GiveUp"))
  it("is waited for however long, while its process has it in hand", () =>
    assert.strictEqual(decideRecovery(intent, held, { isInHand: true, now: hour })._tag, "Wait"))
  it("is retried at once where its request was not sent", () =>
    assert.strictEqual(decideRecovery({ ...intent, attempt: 0 }, held, at(1))._tag, "Retry"))
  it("is obsolete once the credential was replaced", () => {
    assert.strictEqual(decideRecovery(intent, { ...held, tokenHash: "b" }, at(0))._tag, "Forget")
    assert.strictEqual(decideRecovery(intent, { ...held, refreshSeq: 5 }, at(0))._tag, "Forget")
  })
})

describe("a credential", () => {
  const credential = {
    _tag: "Tokens",
    provider: null,
    accessToken: Redacted.make("canary-access"),
    refreshToken: Redacted.make("canary-refresh"),
    issuedAt: 0,
    expiresAt: hour,
    fields: { clientId: Redacted.make("canary-client") }
  } as const
  it("is restored from its text", () => {
    const back = credentialOf(credentialText(credential))
    assert.strictEqual(back._tag, "Some")
    if (back._tag === "Some")
      assert.deepStrictEqual(credentialMembers(back.value), ["accessToken", "clientId", "refreshToken"])
  })
  it("prints redacted", () =>
    assert.notInclude(JSON.stringify(credential) + String(credentialText(credential)), "canary"))
  it("other text is not a credential", () => {
    assert.strictEqual(credentialOf(Redacted.make("{}"))._tag, "None")
    assert.strictEqual(credentialOf(Redacted.make("x"))._tag, "None")
  })
  it("has a fingerprint that does not depend on the order of members", () => {
    const fields = (values: { readonly [name: string]: string }) => ({
      _tag: "Fields" as const,
      fields: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Redacted.make(value)]))
    })
    const hash = (text: string) => `${text}--------`
    assert.strictEqual(
      credentialFingerprint(fields({ a: "1", b: "2" }), hash),
      credentialFingerprint(fields({ b: "2", a: "1" }), hash)
    )
  })
})
