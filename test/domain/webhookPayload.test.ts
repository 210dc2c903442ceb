/** What a webhook's request says: forms, challenges, and the events of a delivery. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { EventDefinition, WebhookDefinition } from "../../src/domain/connector/Webhook.js"
import {
  bodyChallenge,
  bodyForm,
  deliveredEvents,
  eventDeliveryId,
  eventsOfKey,
  fieldsOf,
  queryChallenge,
  slackChallenge
} from "../../src/domain/WebhookPayload.js"

const webhook = Schema.decodeUnknownSync(WebhookDefinition)
const event = Schema.decodeUnknownSync(EventDefinition)

describe("a body", () => {
  it("is read as JSON or as a form, by its content type", () => {
    assert.deepStrictEqual(
      ["application/json; charset=utf-8", "application/cloudevents+json", "APPLICATION/JSON"].map(bodyForm),
      ["json", "json", "json"]
    )
    assert.strictEqual(bodyForm("application/x-www-form-urlencoded"), "form")
    assert.deepStrictEqual(
      [undefined, "text/plain", "multipart/form-data; boundary=x", "application/xml", "json"].map(bodyForm),
      [undefined, undefined, undefined, undefined, undefined]
    )
  })

  it("of a form becomes an object; a repeated field becomes a list; no name reaches a prototype", () => {
    assert.deepStrictEqual(fieldsOf("a=1&b=x%20y&b=z&c="), { a: "1", b: ["x y", "z"], c: "" })
    const hostile = fieldsOf("__proto__=1&constructor=2")
    assert.deepStrictEqual(Object.keys(hostile), ["__proto__", "constructor"])
    assert.strictEqual(Object.getPrototypeOf(hostile), Object.prototype)
  })
})

describe("a challenge", () => {
  it("in the query is repeated, by the names that providers use", () => {
    assert.strictEqual(queryChallenge(fieldsOf("hub.mode=subscribe&hub.challenge=1158201444")), "1158201444")
    assert.strictEqual(queryChallenge(fieldsOf("validationToken=a%20token")), "a token")
    assert.strictEqual(queryChallenge(fieldsOf("challenge=abc")), "abc")
    assert.isUndefined(queryChallenge(fieldsOf("x=1")))
    assert.isUndefined(queryChallenge(fieldsOf(`challenge=${"a".repeat(2_001)}`)))
  })

  it("in the body is answered as the definition says", () => {
    const body = { token: "t", challenge: "3eZbrw1aB", type: "url_verification" }
    assert.strictEqual(bodyChallenge(slackChallenge, body), "3eZbrw1aB")
    assert.isUndefined(bodyChallenge(slackChallenge, { ...body, type: "event_callback" }))
    assert.isUndefined(bodyChallenge(undefined, body))
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
      deliveredEvents(batched, payload, {}).map(({ account, index, key }) => [key, account, index]),
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
    assert.deepStrictEqual(deliveredEvents(batched, { events: "none" }, {}), [])
  })

  it("have their key and account in headers, if the definition says so", () => {
    const github = webhook({
      id: "app",
      type: "app",
      eventHeader: "X-GitHub-Event",
      account: { header: "X-GitHub-Hook-Installation-Target-ID", connection: "$.config.installation" }
    })
    const headers = { "x-github-event": "issues", "x-github-hook-installation-target-id": "79929171" }
    assert.deepInclude(deliveredEvents(github, { action: "opened" }, headers)[0], {
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
