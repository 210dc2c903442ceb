import { Effect, Redacted } from "effect"
import * as ByteLedger from "../../src/runtime/memory/ByteLedger.js"
import { assert, describe, it } from "vitest"
import { Egress, type EgressRequest } from "../../src/actors/ports/Egress.js"
import type { TokenEndpoint } from "../../src/actors/ports/connection/TokenEndpoint.js"
import { quickbooks } from "../../src/domain/connectors/quickbooks/QuickBooks.js"
import { make } from "../../src/runtime/oauth/TokenEndpoint.js"
import { organisation } from "../support/journal.js"

type Revocation = Parameters<TokenEndpoint["Type"]["revoke"]>[0]

/** The request that revokes a token; the provider accepts it. */
const sentToRevoke = async (body: Revocation["body"]): Promise<EgressRequest> => {
  const sent: Array<EgressRequest> = []
  const endpoint = await Effect.runPromise(
    Effect.provideService(make, Egress, {
      ask: () => {
        throw new Error("no test asks for it")
      },
      send: (request) =>
        Effect.sync(() => {
          sent.push(request)
          return { status: 200, headers: [], body: new Uint8Array(), url: request.url }
        }),
      open: () => Effect.dieMessage("nothing is opened"),
      check: () => Effect.void,
      checkTarget: () => Effect.void,
      readings: Effect.dieMessage("nothing is read")
    }).pipe(Effect.provide(ByteLedger.layer({ bytes: 2 ** 28 })))
  )
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
