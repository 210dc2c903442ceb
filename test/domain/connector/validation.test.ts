import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { validateDefinition } from "../../../src/domain/connector/Validation.js"
import type { Json } from "../../../src/domain/Json.js"
import { findSchemaMistakes } from "../../../src/runtime/computing/worker/Contracts.js"
import { withValue } from "../../support/contractExample.js"

const found = (document: Json): ReadonlyArray<string> =>
  Either.match(validateDefinition(document, findSchemaMistakes), {
    onLeft: (all) => all.map(({ code, path }) => `${path} ${code}`),
    onRight: () => []
  })

describe("a definition", () => {
  it("of the contract's example is valid, with its defaults filled in", () => {
    assert.deepStrictEqual(found(withValue()), [])
    const made = Either.getOrThrow(validateDefinition(withValue(), findSchemaMistakes))
    assert.strictEqual(made.retry.maxMs, 30_000)
    assert.deepStrictEqual(made.auth[2]?.inject, [
      { in: "header", name: "Authorization", value: "Basic {{credential.basic}}" }
    ])
    assert.deepStrictEqual(found(JSON.parse(JSON.stringify(made))), [], "what is exported can be imported")
  })

  it.each<[string, unknown, string]>([
    // Form
    ["slug", "Acme CRM", "slug INVALID_VALUE"],
    ["slug", undefined, "slug REQUIRED"],
    ["slug", "discover", "slug RESERVED_NAME"],
    ["slug", "unified", "slug RESERVED_NAME"],
    ["slug", "cdm", "slug RESERVED_NAME"],
    ["version", "1.2", "version INVALID_VALUE"],
    ["kind", "toaster", "kind INVALID_VALUE"],
    ["colour", "red", "colour UNKNOWN_FIELD"],
    ["actions.0.request.method", "FETCH", "actions[0].request.method INVALID_VALUE"],
    ["actions.1.timeoutMs", 5, "actions[1].timeoutMs INVALID_VALUE"],
    // Where it goes
    ["baseUrl", "http://acme.example", "baseUrl INVALID_URL"],
    ["baseUrl", "acme.example", "baseUrl INVALID_URL"],
    ["baseUrl", "https://acme.example?x=1", "baseUrl INVALID_URL"],
    ["baseUrl", "https://{{connection.config.region}}.example", "baseUrl UNKNOWN_NAME"],
    ["baseUrl", "https://{{args.host}}", "baseUrl UNKNOWN_NAME"],
    ["baseUrl", "https://{{connection.config", "baseUrl INVALID_TEMPLATE"],
    ["connectionConfig.properties.subdomain.type", "text", "connectionConfig.properties.subdomain.type INVALID_SCHEMA"],
    // Credentials
    ["auth", [], "auth REQUIRED"],
    ["auth.1.id", "oauth", "auth[1].id DUPLICATE"],
    ["auth.1.default", true, "auth DUPLICATE"],
    ["auth.1.type", "magic", "auth[1].type INVALID_VALUE"],
    ["auth.0.authorizationUrl", undefined, "auth[0].authorizationUrl REQUIRED"],
    ["auth.0.tokenUrl", "http://acme.example/token", "auth[0].tokenUrl INVALID_URL"],
    ["auth.0.clientSecret", "s", "auth[0].clientId REQUIRED"],
    ["auth.0.inject.0.value", "{{credential.token}}", "auth[0].inject[0].value UNKNOWN_NAME"],
    ["auth.1.inject.0.name", "X API", "auth[1].inject[0].name INVALID_HEADER"],
    ["auth.1.inject.0.name", "Host", "auth[1].inject[0].name INVALID_HEADER"],
    ["auth.1.fields.0.pattern", "(a", "auth[1].fields[0].pattern INVALID_PATTERN"],
    ["auth.3.sign", "hook:eval", "auth[3].sign UNKNOWN_NAME"],
    ["auth.3.signing", { payload: "{secret}" }, "auth[3].signing.payload UNKNOWN_NAME"],
    ["auth.3.signing", { key: "{{credential.other}}" }, "auth[3].signing.key UNKNOWN_NAME"],
    ["test.action", "whoAmI", "test.action UNKNOWN_NAME"],
    ["test.accountLabel", "$..email", "test.accountLabel INVALID_PATH"],
    // Actions
    ["actions.1.name", "listContacts", "actions[1].name DUPLICATE"],
    ["actions.1.name", "get me", "actions[1].name INVALID_VALUE"],
    ["actions.1.request.path", "me", "actions[1].request.path INVALID_PATH"],
    ["actions.1.request.path", "/a/../me", "actions[1].request.path INVALID_PATH"],
    ["actions.1.request.path", "/a/%2E%2e/me", "actions[1].request.path INVALID_PATH"],
    ["actions.1.request.path", "/me#x", "actions[1].request.path INVALID_PATH"],
    ["actions.1.request.path", "http://other.example/me", "actions[1].request.path INVALID_PATH"],
    ["actions.1.request.path", "https://{{args.host}}/me", "actions[1].request.path INVALID_PATH"],
    ["actions.1.request.path", "/{{secrets.x}}", "actions[1].request.path UNKNOWN_NAME"],
    ["actions.1.request.query", { a: ["{{credential.apiKey}}"] }, "actions[1].request.query.a[0] UNKNOWN_NAME"],
    ["actions.1.request.headers", { "Content-Length": "1" }, "actions[1].request.headers INVALID_HEADER"],
    ["actions.1.request.body", { a: 1 }, "actions[1].request.body NOT_ALLOWED"],
    ["actions.2.request.body", { a: "{{args.x ?? }}" }, "actions[2].request.body.a INVALID_TEMPLATE"],
    ["actions.1.request.method", "SEND", "actions[1].request.method INVALID_VALUE"],
    ["actions.0.response.map", "$.a[", "actions[0].response.map INVALID_PATH"],
    ["actions.0.response.map", { a: "{{event.x}}" }, "actions[0].response.map.a UNKNOWN_NAME"],
    [
      "actions.0.response.errorWhen",
      { path: "s", op: "matches", value: "(" },
      "actions[0].response.errorWhen.value INVALID_PATTERN"
    ],
    [
      "actions.0.response.errorWhen",
      { all: [{ path: "s", op: "in", value: 1 }] },
      "actions[0].response.errorWhen.all[0].value INVALID_TYPE"
    ],
    ["actions.0.pagination.next", undefined, "actions[0].pagination.next REQUIRED"],
    ["actions.0.pagination.param", "cursor", "actions[0].pagination.param UNUSED"],
    ["actions.0.inputSchema", { type: "objekt" }, "actions[0].inputSchema.type INVALID_SCHEMA"],
    ["toolActions", ["nope"], "toolActions[0] UNKNOWN_NAME"],
    // Events
    ["events.1.id", "contact.updated", "events[1].id DUPLICATE"],
    ["events.0.poll.action", "nope", "events[0].poll.action UNKNOWN_NAME"],
    ["events.0.poll", undefined, "events[0].poll REQUIRED"],
    ["events.0.entity", "deal", "events[0].entity UNKNOWN_NAME"],
    ["events.1.webhook", "nope", "events[1].webhook UNKNOWN_NAME"],
    ["webhooks.0.subscribe.action", "nope", "webhooks[0].subscribe.action UNKNOWN_NAME"],
    ["webhooks.0.subscribe.args", { url: "{{trigger.url}}" }, "webhooks[0].subscribe.args.url UNKNOWN_NAME"],
    ["webhooks.0.subscribe.expiresFrom", undefined, "webhooks[0].subscribe.expiresFrom REQUIRED"],
    ["webhooks.0.verify.header", undefined, "webhooks[0].verify.header REQUIRED"],
    ["webhooks.0.verify.secretName", "S", "webhooks[0].verify DUPLICATE"],
    ["webhooks.0.verify.maxAgeSeconds", 301, "webhooks[0].verify.maxAgeSeconds INVALID_VALUE"],
    // Entities
    ["entities.0.cdm", "CDMToaster", "entities[0].cdm UNKNOWN_NAME"],
    ["entities.0.read", "nope", "entities[0].read UNKNOWN_NAME"],
    ["entities.0.fields.0.to", "givenName", "entities[0].fields[0].to UNKNOWN_NAME"],
    ["entities.0.fields.1.transforms", ["SHOUT"], "entities[0].fields[1].transforms[0] UNKNOWN_NAME"],
    ["entities.0.fieldsOut", undefined, "entities[0].fieldsOut REQUIRED"],
    ["entities.0.fields.0.minorUnits", true, "entities[0].fields[0].minorUnits REQUIRED"],
    ["entities.0.fieldsOut.0.minorUnits", true, "entities[0].fieldsOut[0].minorUnits REQUIRED"],
    ["entities.0.minorUnits", { currency: "a..b" }, "entities[0].minorUnits.currency INVALID_PATH"],
    [
      "entities.0.minorUnits",
      { currency: "currency", decimals: { yen: 0 } },
      "entities[0].minorUnits.decimals.yen UNKNOWN_FIELD"
    ]
  ])("with %s = %j is refused: %3$s", (path, value, expected) =>
    assert.include(found(withValue([path, value])), expected)
  )

  it("reports every mistake, not only the first", () => {
    const all = found(
      withValue(["test.action", "nope"], ["baseUrl", "ftp://x"], ["auth.3.sign", "x"], ["actions.1.request.path", "me"])
    )
    assert.deepStrictEqual(all.map((one) => one.split(" ")[0]).sort(), [
      "actions[1].request.path",
      "auth[3].sign",
      "baseUrl",
      "test.action"
    ])
  })

  it("reports mistakes elsewhere when the form is wrong in one place, and no false ones", () => {
    assert.deepStrictEqual(
      found(withValue(["version", "1"], ["baseUrl", "http://x"], ["colour", 1]))
        .slice()
        .sort(),
      ["baseUrl INVALID_URL", "colour UNKNOWN_FIELD", "version INVALID_VALUE"]
    )
    assert.deepStrictEqual(
      found(withValue(["actions.0.request.method", "FETCH"], ["actions.1.request.path", "me"]))
        .slice()
        .sort(),
      ["actions[0].request.method INVALID_VALUE", "actions[1].request.path INVALID_PATH"]
    )
    for (const [path, value] of [
      ["auth.0.type", "magic"],
      ["actions", 5],
      ["actions.0", null],
      ["events.0.delivery", "pigeon"],
      ["webhooks.0.type", 1],
      ["entities", "x"],
      ["connectionConfig", 1]
    ] as const) {
      const places = found(withValue([path, value])).map((one) => one.split(" ")[0] ?? "")
      const place = path.replace(/\.(\d+)/g, "[$1]")
      assert.isNotEmpty(places)
      for (const one of places) assert.isTrue(one.startsWith(place) || place.startsWith(one), `${path}: ${one}`)
    }
  })

  it.each([null, 1, "text", [], {}, { svcConnector: 2 }])("that is %j is refused without an exception", (document) =>
    assert.isAbove(found(document).length, 0)
  )

  it("may use raw authentication types of other tools", () => {
    const auth = ["OAUTH_2", "API_KEY", "BEARER", "BASIC", "DIGEST", "INPUT", "NO_AUTH"].map((type) => ({
      id: type.toLowerCase(),
      type,
      ...(type === "OAUTH_2" ? { authorizationUrl: "https://a.example", tokenUrl: "https://t.example" } : {})
    }))
    const made = Either.getOrThrowWith(
      validateDefinition(withValue(["auth", auth]), findSchemaMistakes),
      (all) => new Error(JSON.stringify(all))
    )
    assert.deepStrictEqual(
      made.auth.map(({ type }) => type),
      ["oauth2", "api_key", "api_key", "basic", "custom", "custom", "none"]
    )
    assert.strictEqual(made.auth[2]?.inject[0]?.value, "Bearer {{credential.token}}")
    const digest = made.auth[4]
    assert.strictEqual(digest?.type === "custom" ? digest.sign : "", "hook:digest")
  })
})
