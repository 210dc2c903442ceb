/** The auth of a Postman collection becomes an auth method; its credentials are in no answer. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { importPostman } from "../../src/domain/connector/import/postman/PostmanCollection.js"
import { validateDefinition } from "../../src/domain/connector/Validation.js"
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { findSchemaMistakes } from "../../src/runtime/computing/worker/Contracts.js"
import { authOf, collection } from "../support/postman.js"

const imported = (item: ReadonlyArray<Json>, more: JsonObject = {}) => {
  const { definition, warnings } = Either.getOrThrowWith(
    importPostman(collection(item, more), {}),
    ({ at, message }) => new Error(`${at} ${message}`)
  )
  const valid = Either.getOrThrowWith(
    validateDefinition(definition, findSchemaMistakes),
    (all) => new Error(JSON.stringify(all))
  )
  return { definition: valid, warnings }
}

const call = (more: JsonObject = {}): JsonObject => ({
  name: "Call",
  request: { method: "GET", url: "https://a.test/x?key=1", ...more }
})

const canary = "canary-Credential-4711"

describe("the auth of a collection", () => {
  const kinds: ReadonlyArray<readonly [string, JsonObject, JsonObject]> = [
    ["bearer", authOf("bearer", { token: canary }), { type: "api_key" }],
    ["basic", authOf("basic", { username: "me", password: canary }), { type: "basic" }],
    ["digest", authOf("digest", { username: "me", password: canary }), { type: "custom", sign: "hook:digest" }],
    ["noauth", { type: "noauth" }, { type: "none" }],
    [
      "apikey in a header",
      authOf("apikey", { key: "X-Key", value: canary, in: "header" }),
      { type: "api_key", inject: [{ in: "header", name: "X-Key", value: "{{credential.apiKey}}" }] }
    ],
    [
      "apikey in the query, whose name is a variable",
      authOf("apikey", { key: "{{keyName}}", value: canary, in: "query" }),
      { type: "api_key", inject: [{ in: "query", name: "key", value: "{{credential.apiKey}}" }] }
    ],
    [
      "oauth2 with a code",
      authOf("oauth2", {
        grant_type: "authorization_code_with_pkce",
        authUrl: "{{id}}/authorize",
        accessTokenUrl: "http://id.a.test/token",
        scope: "read write",
        clientId: "public-client",
        clientSecret: canary,
        accessToken: canary
      }),
      {
        type: "oauth2",
        grant: "authorization_code",
        authorizationUrl: "https://id.a.test/authorize",
        tokenUrl: "https://id.a.test/token",
        scopes: ["read", "write"]
      }
    ],
    [
      "oauth2 of a client, in the query",
      authOf("oauth2", {
        grant_type: "client_credentials",
        accessTokenUrl: "https://id.a.test/token",
        addTokenTo: "queryParams",
        clientSecret: canary
      }),
      {
        type: "oauth2",
        grant: "client_credentials",
        inject: [{ in: "query", name: "access_token", value: "{{credential.accessToken}}" }]
      }
    ],
    ["oauth2 without a grant that lasts", authOf("oauth2", { grant_type: "implicit" }), { type: "api_key" }],
    ["awsv4", authOf("awsv4", { accessKey: canary, secretKey: canary }), { type: "none" }],
    ["an unknown one", authOf("__proto__", { secret: canary }), { type: "none" }]
  ]
  it.each(kinds)("%s", (_name, auth, expected) => {
    const { definition, warnings } = imported(
      [{ ...call(), name: `Call with ${canary}`, response: [{ code: 200, body: JSON.stringify({ is: canary }) }] }],
      {
        auth,
        variable: [
          { key: "keyName", value: "key" },
          { key: "id", value: "https://id.a.test" }
        ]
      }
    )
    assert.strictEqual(definition.auth.length, 1)
    const [method] = definition.auth
    assert.deepInclude(method, { ...expected, default: true })
    const text = JSON.stringify([definition, warnings])
    // Without a credential that is known as one, the name is only a name.
    if (auth["type"] !== "noauth" && auth["type"] !== "oauth2-implicit" && JSON.stringify(auth).includes(canary))
      assert.notInclude(text, canary)
    assert.strictEqual(
      warnings.length > 0,
      ["awsv4", "__proto__"].includes(String(auth["type"])) || /http:|implicit/.test(JSON.stringify(auth))
    )
  })

  it("is no argument: the key's parameter is left to the credential", () => {
    const { definition } = imported([call({ header: [{ key: "x-KEY", value: canary }] })], {
      auth: authOf("apikey", { key: "X-Key", value: canary })
    })
    assert.deepStrictEqual(Object.keys((definition.actions[0]?.inputSchema["properties"] ?? {}) as JsonObject), ["key"])
  })

  it("is that of a request if the collection has none; others of requests are named", () => {
    const bearer = authOf("bearer", { token: "{{token}}" })
    const { definition, warnings } = imported([
      call(),
      call({ auth: bearer }),
      {
        name: "Folder",
        auth: authOf("basic"),
        item: [call(), call({ auth: bearer }), call({ auth: { type: "noauth" } })]
      }
    ])
    assert.deepStrictEqual(
      definition.auth.map(({ type }) => type),
      ["api_key"]
    )
    assert.deepStrictEqual(
      warnings.map(({ path }) => path),
      ["item[2].item[0].request.auth", "item[2].item[2].request.auth", "item[1].request.auth"]
    )
    assert.match(warnings[0]?.message ?? "", /is basic and not the connector's bearer/)
  })

  it("may be in variables: secret ones, and those that credentials read, have no value", () => {
    const { definition, warnings } = imported(
      [
        call({
          header: [
            { key: "X-Tenant", value: "{{vault}}" },
            { key: "X-Trace", value: "{{own}}" },
            { key: "X-Other", value: `literal ${canary}` }
          ],
          description: `Send ${canary}`
        })
      ],
      {
        auth: authOf("bearer", { token: "{{own}}" }),
        variable: [
          { key: "vault", value: canary, type: "secret" },
          { key: "own", value: "own-Credential-0815" }
        ]
      }
    )
    const text = JSON.stringify([definition, warnings])
    assert.notInclude(text, canary)
    assert.notInclude(text, "own-Credential-0815")
    assert.strictEqual(definition.actions[0]?.description, "Send [redacted]")
  })
})
