/** What a delivery to a webhook of a connector says: its events, or a challenge. */
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Schema } from "effect"
import { formDecoder } from "../../src/domain/CharacterSets.js"
import { EventDefinition, WebhookDefinition } from "../../src/domain/connector/Webhook.js"
import type { Json } from "../../src/domain/Json.js"
import { noPatterns } from "../../src/domain/expression/PatternProgram.js"
import {
  bodyChallenge,
  bodyForm,
  deliveredEvents,
  eventDeliveryId,
  eventsOfKey,
  formFields,
  queryFields
} from "../../src/domain/event/WebhookPayload.js"

const webhook = Schema.decodeUnknownSync(WebhookDefinition)
const event = Schema.decodeUnknownSync(EventDefinition)

const read = (payload: Json) => ({ payload, exact: payload, rounded: undefined })

const slackChallenge = {
  when: { path: "type", op: "eq" as const, value: "url_verification" },
  respond: "challenge"
}

describe("a challenge", () => {
  it("in the body is answered as the definition says", () => {
    const body = { token: "t", challenge: "3eZbrw1aB", type: "url_verification" }
    assert.strictEqual(bodyChallenge(slackChallenge, body, noPatterns), "3eZbrw1aB")
    assert.isUndefined(bodyChallenge(slackChallenge, { ...body, type: "event_callback" }, noPatterns))
    assert.isUndefined(bodyChallenge(undefined, body, noPatterns))
  })
})

describe("the events of a delivery", () => {
  const batched = webhook({
    id: "app",
    type: "app",
    items: "$.events",
    eventKey: "$.subscriptionType",
    account: { payload: "$.portalId", connection: "$.config.portal" }
  })
  const payload = {
    events: [
      { subscriptionType: "contact.creation", portalId: 62_515, objectId: 1 },
      { subscriptionType: "contact.deletion", portalId: "62516", objectId: 2 }
    ]
  }

  it("are the items of its list, each with its key and account", () => {
    assert.deepStrictEqual(
      deliveredEvents(batched, read(payload), {}).map(({ account, index, key }) => [key, account, index]),
      [
        ["contact.creation", "62515", 0],
        ["contact.deletion", "62516", 1]
      ]
    )
    assert.deepStrictEqual(
      [0, 1].map((index) => eventDeliveryId("d", index, 2)),
      ["d#0", "d#1"]
    )
    assert.strictEqual(eventDeliveryId("d", 0, 1), "d")
    assert.isNull(eventDeliveryId(null, 1, 2))
    assert.deepStrictEqual(deliveredEvents(batched, read({ events: "none" }), {}), [])
  })

  it("have their key and account in headers, if the definition says so", () => {
    const github = webhook({
      id: "app",
      type: "app",
      eventHeader: "X-GitHub-Event",
      account: { header: "X-GitHub-Hook-Installation-Target-ID", connection: "$.config.installation" }
    })
    const headers = { "x-github-event": "issues", "x-github-hook-installation-target-id": "79929171" }
    assert.deepInclude(deliveredEvents(github, read({ action: "opened" }), headers)[0], {
      key: "issues",
      account: "79929171"
    })
  })

  it("are those of the definition with this key; without keys the only one", () => {
    const events = [
      event({ id: "contact.created", delivery: "webhook", key: "contact.creation" }),
      event({ id: "contact.deletion", delivery: "webhook" }),
      event({ id: "deal.changed", delivery: "poll" })
    ]
    const found = (key: string | null, one = batched) =>
      eventsOfKey({ events, webhooks: [one] }, one, key).map(({ id }) => id)
    assert.deepStrictEqual(found("contact.creation"), ["contact.created"])
    assert.deepStrictEqual(found("contact.deletion"), ["contact.deletion"])
    assert.deepStrictEqual(found("contact.created"), [])
    assert.deepStrictEqual(found(null), [])
    assert.deepStrictEqual(found(null, webhook({ id: "app", type: "app" })), ["contact.created"])
  })
})

describe("a content type", () => {
  it.each([
    ["application/json", "json"],
    ["Application/JSON; charset=utf-8", "json"],
    ["text/json", "json"],
    ["application/vnd.acme+json", "json"],
    ["application/vnd.acme+v2+json", "json"],
    ["text/vnd.acme+json", "json"],
    ["application/x-www-form-urlencoded; charset=utf-8", "form"],
    ["text/plain; charset=UTF-8", "plain"],
    ["", "plain"],
    [undefined, "plain"],
    ["application/jsonp", undefined],
    ["application/+json", undefined],
    ["text/html", undefined],
    ["multipart/form-data; boundary=x", undefined]
  ])("%s is read as %s", (type, form) => assert.strictEqual(bodyForm(type), form))
})

describe("a form", () => {
  const letters = ["a", "b", "&", "=", "+", "%", "%4", "%41", "%C3", "%A9", "é", "%zz", "%EF%BB%BF", "\u{1F600}", " "]
  const bytes = (text: string) => new TextEncoder().encode(text)

  it("is read as the URL standard reads it", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.constantFrom(...letters)), (parts) => {
        const text = parts.join("")
        // Node's `URLSearchParams` misreads characters beyond ASCII beside an invalid escape.
        const fields = queryFields(text.replace(/[^\0-\x7f]+/gu, encodeURIComponent))
        const expected = JSON.stringify(fields).includes("\ufffd")
          ? Either.left("encoding" as const)
          : Either.right(fields)
        assert.deepStrictEqual(formFields(bytes(text), 1_000), expected)
      }),
      { numRuns: 5_000 }
    )
  })

  it.each<readonly [charset: string, sent: string, read: string]>([
    ["ISO-8859-1", "Jos%E9", "José"],
    ["iso-8859-1", "Jos\xe9", "José"],
    ["windows-1252", "%80\xe9", "€é"],
    ["iso-8859-15", "%A4", "€"],
    ["utf-8", "Jos%C3%A9", "José"],
    ["shift_jis", "%83%65\x83X%83g+%26", "テスト &"]
  ])("in %s is read in it, escaped or not: %s", (charset, sent, name) => {
    const decoder = formDecoder(charset)
    const found = formFields(Uint8Array.from(Buffer.from(`name=${sent}&n=1`, "latin1")), 10, decoder)
    assert.deepStrictEqual(found, Either.right({ name, n: "1" }))
  })

  it("whose bytes are no text in its character set is refused", () => {
    for (const sent of ["a=%E9", "a=\xe9", "%C3=1"])
      assert.deepStrictEqual(formFields(Uint8Array.from(Buffer.from(sent, "latin1")), 10), Either.left("encoding"))
    for (const charset of ["nope", "utf-16", "utf-16be", "iso-2022-jp", ""]) assert.isUndefined(formDecoder(charset))
  })

  it("is read without a byte order mark, which tells that it is UTF-8", () => {
    const sent = Uint8Array.from(Buffer.from("\ufeffname=José"))
    for (const charset of ["utf-8", "iso-8859-1"])
      assert.deepStrictEqual(formFields(sent, 10, formDecoder(charset)), Either.right({ name: "José" }))
  })

  it("with U+0000 or too many fields is refused", () => {
    assert.deepStrictEqual(formFields(bytes("a=b%00"), 10), Either.left("null"))
    assert.deepStrictEqual(formFields(bytes("a=b\u0000"), 10), Either.left("null"))
    assert.deepStrictEqual(formFields(bytes("&".repeat(10)), 10), Either.left("fields"))
    assert.deepStrictEqual(formFields(bytes("a=%2500"), 10), Either.right({ a: "%00" }))
  })
})
