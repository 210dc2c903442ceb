import { Effect, Either, Redacted } from "effect"
import * as ByteLedger from "../../src/runtime/memory/ByteLedger.js"
import { assert, describe, it } from "vitest"
import { Egress, type EgressRequest } from "../../src/actors/ports/Egress.js"
import type { TokenEndpoint } from "../../src/actors/ports/connection/TokenEndpoint.js"
import { catalogue } from "../../src/domain/connectors/index.js"
import { quickbooks } from "../../src/domain/connectors/quickbooks/QuickBooks.js"
import { isGrantLost } from "../../src/domain/connection/Refresh.js"
import { make } from "../../src/runtime/oauth/TokenEndpoint.js"
import { organisation } from "../support/journal.js"
import { layerOwnAccounts } from "../support/shareOwners.js"

type Revocation = Parameters<TokenEndpoint["Type"]["revoke"]>[0]

interface Answer {
  readonly status: number
  readonly type?: string
  readonly body: string
}

/** The token endpoint of a provider that always gives this answer. */
const endpointOf = (answer: Answer, sent: Array<EgressRequest> = []) =>
  Effect.runPromise(
    Effect.provideService(make, Egress, {
      ask: () => {
        throw new Error("no test asks for it")
      },
      send: (request) =>
        Effect.sync(() => {
          sent.push(request)
          const headers = answer.type === undefined ? [] : [["content-type", answer.type] as const]
          return { status: answer.status, headers, body: Buffer.from(answer.body), url: request.url }
        }),
      open: () => Effect.dieMessage("nothing is opened"),
      check: () => Effect.void,
      checkTarget: () => Effect.void,
      readings: Effect.dieMessage("nothing is read")
    }).pipe(Effect.provide([ByteLedger.layer({ bytes: 2 ** 28 }), layerOwnAccounts]))
  )

/** The request that revokes a token; the provider accepts it. */
const sentToRevoke = async (body: Revocation["body"]): Promise<EgressRequest> => {
  const sent: Array<EgressRequest> = []
  const endpoint = await endpointOf({ status: 200, body: "" }, sent)
  await Effect.runPromise(
    endpoint.revoke({
      organisationId: organisation,
      url: "https://provider.example/revoke",
      body,
      client: { clientId: "client", clientSecret: Redacted.make("secret"), auth: "basic" },
      token: Redacted.make("refresh-1"),
      hint: "refresh_token"
    })
  )
  assert.strictEqual(sent.length, 1)
  return sent[0]!
}

const headerOf = (request: EgressRequest, name: string) => request.headers.find(([one]) => one === name)?.[1]

describe("the revocation of a token", () => {
  const basic = `Basic ${Buffer.from("client:secret").toString("base64")}`

  it("is sent as a form, with the type of the token", async () => {
    const request = await sentToRevoke("form")
    assert.strictEqual(request.body, "token=refresh-1&token_type_hint=refresh_token")
    assert.strictEqual(headerOf(request, "content-type"), "application/x-www-form-urlencoded")
    assert.strictEqual(headerOf(request, "authorization"), basic)
  })

  it("is sent in JSON with the token only, as QuickBooks requires", async () => {
    const [method] = quickbooks.definition().auth
    const body = method?.type === "oauth2" ? method.revocationBody : "form"
    const request = await sentToRevoke(body)
    assert.strictEqual(request.body, '{"token":"refresh-1"}')
    assert.strictEqual(headerOf(request, "content-type"), "application/json")
    assert.strictEqual(headerOf(request, "authorization"), basic)
  })
})

/** How a refresh with this answer ended. */
const refreshed = async (answer: Answer) => {
  const endpoint = await endpointOf(answer)
  return Effect.runPromise(
    Effect.either(
      endpoint.request({
        organisationId: organisation,
        url: "https://provider.example/token",
        client: { clientId: "client", clientSecret: Redacted.make("secret"), auth: "basic" },
        grant: { type: "refresh_token", refreshToken: Redacted.make("refresh-token-1") },
        params: {},
        expiresInField: "expires_in",
        scopeSeparator: " ",
        config: {}
      })
    )
  )
}

/** Whether the answer says that the grant has ended. */
const isLost = async (answer: Answer, lostCodes: ReadonlyArray<string> = []) =>
  Either.match(await refreshed(answer), {
    onLeft: (failure) => isGrantLost(failure, lostCodes),
    onRight: () => false
  })

const json = (status: number, value: unknown): Answer => ({
  status,
  type: "application/json",
  body: JSON.stringify(value)
})

/** What each provider answers to a refresh token that is expired or revoked, as its documentation says. */
const deadTokens: Readonly<Record<string, Answer>> = {
  shopify: json(400, { error: "invalid_grant", error_description: "Token has been expired or revoked." }),
  stripe: json(400, { error: "invalid_grant", error_description: "Refresh token does not exist: rt_1" }),
  quickbooks: json(400, { error: "invalid_grant", error_description: "Incorrect or invalid refresh token" }),
  xero: json(400, { error: "invalid_grant" }),
  hubspot: json(400, { status: "BAD_REFRESH_TOKEN", message: "missing or invalid refresh token", correlationId: "c" }),
  salesforce: json(400, { error: "invalid_grant", error_description: "expired access/refresh token" }),
  pipedrive: json(400, { success: false, message: "Invalid grant: refresh token is invalid", error: "invalid_grant" }),
  github: json(200, {
    error: "bad_refresh_token",
    error_description: "The refresh token passed is incorrect or expired."
  }),
  "google-drive": json(400, { error: "invalid_grant", error_description: "Token has been expired or revoked." }),
  confluence: json(403, { error: "unauthorized_client", error_description: "refresh_token is invalid" }),
  jira: json(403, { error: "unauthorized_client", error_description: "refresh_token is invalid" }),
  slack: json(200, { ok: false, error: "invalid_refresh_token" })
}

describe("the lifetime of a token", () => {
  it.each<readonly [sent: unknown, seconds: number | null]>([
    [3600, 3600],
    ["3600", 3600],
    ["", null],
    [" ", null],
    ["0x10", null],
    ["Infinity", null],
    [true, null],
    [[60], null],
    [0, null],
    [null, null]
  ])("of %j is %j", async (sent, seconds) => {
    const found = await refreshed(json(200, { access_token: "t", expires_in: sent }))
    assert.strictEqual(Either.getOrThrow(found).expiresInSeconds, seconds)
  })
})

describe("the scopes of an answer", () => {
  it.each<[unknown, ReadonlyArray<string> | null]>([
    ["read write", ["read", "write"]],
    [
      ["read", "write"],
      ["read", "write"]
    ],
    [["read", 7, ""], ["read"]],
    [[], null],
    [undefined, null]
  ])("%j are %j", async (scope, expected) => {
    const found = await refreshed(json(200, { access_token: "t", scope }))
    assert.deepStrictEqual(Either.isRight(found) ? found.right.scopes : found.left, expected)
  })
})

describe("an answer to a dead refresh token", () => {
  const withTokens = catalogue().flatMap(({ auth, slug }) => {
    const method = auth.find((one) => one.type === "oauth2" && one.grant === "authorization_code")
    return method?.type === "oauth2" ? [[slug, method.refresh.lostCodes] as const] : []
  })

  it.each(withTokens)("of %s ends the grant", async (slug, lostCodes) => {
    const answer = deadTokens[slug]
    if (answer === undefined) throw new Error(`add what ${slug} answers to a dead refresh token to deadTokens`)
    assert.isTrue(await isLost(answer, lostCodes))
  })

  it("is found in a form and in a nested error, whatever its status and type say", async () => {
    const form = "error=bad_refresh_token&error_description=The+refresh+token+passed+is+incorrect+or+expired."
    for (const type of ["application/x-www-form-urlencoded; charset=utf-8", "text/plain", "text/html", undefined])
      for (const status of [200, 400])
        assert.isTrue(
          await isLost({ status, ...(type === undefined ? {} : { type }), body: form }),
          `${type} ${status}`
        )
    for (const value of [
      { error: { type: "invalid_grant" } },
      { error: { code: "invalid_grant", message: "m" } },
      { error: { status: 400, code: 7, type: "Error", error: "invalid_grant" } },
      { errors: [{ code: "invalid_grant" }] },
      { error: { type: "invalid_grant" }, access_token: "" },
      { error: { type: "invalid_grant" }, access_token: "not-to-be-used" }
    ])
      assert.isTrue(await isLost(json(200, value)), JSON.stringify(value))
    const own = json(200, { error: { code: "invalid_code" } })
    assert.isFalse(await isLost(own))
    assert.isTrue(await isLost(own, ["invalid_code"]))
  })

  it("is no other answer", async () => {
    for (const answer of [
      json(400, { error: "invalid_request", error_description: "invalid_grant" }),
      json(503, { error: "invalid_grant" }),
      json(200, { access_token: "t", token_type: "Bearer", error: null, errors: [], status: "ok" }),
      { status: 400, type: "text/html", body: "<html>error=invalid_grant</html>" },
      { status: 200, type: "text/plain", body: "access_token=t&token_type=bearer" }
    ])
      assert.isFalse(await isLost(answer), answer.body)
    const form = { status: 200, type: "text/plain", body: "access_token=t&token_type=bearer" }
    assert.isTrue(Either.isRight(await refreshed(form)))
    assert.isTrue(Either.isRight(await refreshed(json(200, { access_token: "t", error: null, errors: [] }))))
  })

  it("is told without the tokens that it repeats", async () => {
    const failure = await refreshed(
      json(400, { error: { type: "refresh-token-1", message: "refresh-token-1 is dead" } })
    )
    assert.notInclude(JSON.stringify(failure), "refresh-token-1")
  })
})
