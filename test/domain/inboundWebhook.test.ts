/** Webhooks that arrive are verified over their raw bytes, by the scheme of each provider. */
import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Either, Redacted, Schema } from "effect"
import { WebhookVerification } from "../../src/domain/connector/Webhook.js"
import { deduplicationValue } from "../../src/domain/event/EventRouting.js"
import type { Json } from "../../src/domain/Json.js"
import { verifyDelivery } from "../../src/domain/event/InboundWebhook.js"
import { makeDigests } from "../../src/runtime/process/Crypto.js"

const digests = {
  ...makeDigests({ pepper: Redacted.make("pepper of the tests") }),
  hmac: (algorithm: "sha1" | "sha256" | "sha512", key: Uint8Array, data: Uint8Array) =>
    new Uint8Array(createHmac(algorithm, key).update(data).digest())
}
const utf8 = new TextEncoder()
const rule = Schema.decodeUnknownSync(WebhookVerification)
const sign = (secret: string, text: string, encoding: "hex" | "base64" = "hex", algorithm = "sha256") =>
  createHmac(algorithm, secret).update(text).digest(encoding)

interface Delivery {
  readonly verification: WebhookVerification
  readonly secret: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  /** Unix seconds. */
  readonly now: number
}

const verdict = (delivery: Delivery, change: Partial<Delivery> & { readonly secrets?: ReadonlyArray<string> } = {}) => {
  const { body, headers, now, secret, verification } = { ...delivery, ...change }
  const request = { headers, body: utf8.encode(body), nowMillis: now * 1_000 }
  return Either.merge(verifyDelivery(verification, change.secrets ?? [secret], request, digests))
}

const stripeBody = `{
  "id": "evt_1NG8Du2eZvKYlo2CUI79vXWy",
  "object": "event",
  "created": 1686089970,
  "data": { "object": { "id": "pi_3NG8Dt2eZvKYlo2C1xkMqhTq", "amount": 1099, "currency": "eur" } },
  "type": "payment_intent.succeeded"
}`
const stripeSecret = "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH"
const slackBody = `{"token":"z26uFbvR1xHJEdHE1OQiO6t8","team_id":"T123ABC456","api_app_id":"A123ABC456","event":{"type":"message","channel":"C123ABC456","user":"U123ABC456","text":"Live long and prospect – ünïcode","ts":"1355517523.000005"},"type":"event_callback","event_id":"Ev123ABC456","event_time":1355517523}`
const shopifyBody = `{"id":820982911946154508,"email":"jon@example.com","created_at":"2021-12-31T19:00:00-05:00","total_price":"414.95","line_items":[{"id":866550311766439020,"title":"IPod Nano – 8GB"}]}`
const githubBody = `{"action":"opened","issue":{"number":1,"title":"Spelling error in the README file"},"repository":{"full_name":"octocat/Hello-World"},"sender":{"login":"octocat"}}`
const now = 1_795_244_400

const deliveries: { readonly [name: string]: Delivery } = {
  "standard-webhooks": {
    verification: rule({ preset: "standard-webhooks", secretName: "S" }),
    secret: "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX",
    headers: {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(now),
      "webhook-signature": "v1,9AcGNi6SNPS5XRNRkCsoLNfENJgoIz5+FMDkBIZbBtU="
    },
    body: `{"type":"execution.completed"}`,
    now
  },
  stripe: {
    verification: rule({ preset: "stripe", secretName: "S" }),
    secret: stripeSecret,
    headers: {
      "stripe-signature": `t=1686089970,v1=${sign(stripeSecret, `1686089970.${stripeBody}`)},v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39`
    },
    body: stripeBody,
    now: 1_686_089_971
  },
  slack: {
    verification: rule({ preset: "slack", secretName: "S" }),
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    headers: {
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": `v0=${sign("8f742231b10e8888abcd99yyyzzz85a5", `v0:1531420618:${slackBody}`)}`
    },
    body: slackBody,
    now: 1_531_420_620
  },
  github: {
    verification: rule({ preset: "github", secretName: "S" }),
    secret: "It's a Secret to Everybody",
    headers: {
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      "x-github-event": "issues",
      "x-hub-signature-256": `sha256=${sign("It's a Secret to Everybody", githubBody)}`
    },
    body: githubBody,
    now
  },
  shopify: {
    verification: rule({ preset: "shopify", secretName: "S" }),
    secret: "hush",
    headers: {
      "x-shopify-topic": "orders/create",
      "x-shopify-webhook-id": "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043",
      "x-shopify-hmac-sha256": sign("hush", shopifyBody, "base64")
    },
    body: shopifyBody,
    now
  },
  "an own scheme": {
    verification: rule({
      scheme: "hmac",
      secretName: "S",
      header: "X-Signature",
      algorithm: "sha512",
      encoding: "base64",
      payload: "{id}.{timestamp}.{body}",
      timestampHeader: "X-Time",
      timestampFormat: "ms",
      idHeader: "X-Id",
      maxAgeSeconds: 60
    }),
    secret: "own secret",
    headers: {
      "x-id": "d-1",
      "x-time": String(now * 1_000),
      "x-signature": sign("own secret", `d-1.${now * 1_000}.{"a":1}`, "base64", "sha512")
    },
    body: `{"a":1}`,
    now
  },
  "a token": {
    verification: rule({
      scheme: "token",
      secretName: "S",
      header: "Authorization",
      prefix: "Bearer ",
      timestampHeader: "x-sent-at",
      timestampFormat: "iso"
    }),
    secret: "the token",
    headers: { authorization: "Bearer the token", "x-sent-at": new Date(now * 1_000).toISOString() },
    body: "{}",
    now
  }
}
const ids: { readonly [name: string]: string | null } = {
  "standard-webhooks": "msg_1",
  stripe: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
  slack: "Ev123ABC456",
  github: "72d3162e-cc78-11e3-81ab-4c9367dc0958",
  shopify: "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043",
  "an own scheme": "d-1",
  "a token": null
}
/** Schemes whose requests carry a time. */
const timed = ["standard-webhooks", "stripe", "slack", "an own scheme", "a token"]

describe("published vectors of the providers are accepted", () => {
  it("GitHub's", () => {
    const headers = {
      "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    }
    const delivery = { ...(deliveries["github"] ?? assert.fail()), headers, body: "Hello, World!" }
    const signature = headers["x-hub-signature-256"].slice("sha256=".length)
    assert.deepStrictEqual(verdict(delivery), { deliveryId: null, occurredAt: null, signature })
  })

  it("Slack's, a form", () => {
    const delivery: Delivery = {
      ...(deliveries["slack"] ?? assert.fail()),
      headers: {
        "x-slack-request-timestamp": "1531420618",
        "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
      },
      body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    }
    assert.deepStrictEqual(verdict(delivery), { deliveryId: null, occurredAt: 1_531_420_618_000, signature: null })
  })
})

describe.each(Object.entries(deliveries).map(([name, delivery]) => ({ name, delivery })))(
  "$name",
  ({ delivery, name }) => {
    it("is accepted as the provider signs it, with the id of the delivery", () => {
      const found = verdict(delivery)
      if (typeof found === "string") return assert.fail(found)
      assert.strictEqual(found.deliveryId, ids[name])
      assert.strictEqual(found.occurredAt !== null, timed.includes(name))
    })

    it("is accepted while its secret is rotated, with either secret first", () => {
      assert.isObject(verdict(delivery, { secrets: ["another", delivery.secret] }))
      assert.isObject(verdict(delivery, { secrets: [delivery.secret, "another"] }))
    })

    it("is refused with another secret, without a usable secret, and unsigned", () => {
      const another = delivery.secret.startsWith("whsec_")
        ? `whsec_${Buffer.alloc(32, 7).toString("base64")}`
        : "another secret"
      assert.strictEqual(verdict(delivery, { secret: another }), "mismatch")
      assert.strictEqual(verdict(delivery, { secrets: [] }), "no_secret")
      assert.strictEqual(verdict(delivery, { secrets: ["", ""] }), "no_secret")
      assert.strictEqual(verdict(delivery, { headers: {} }), "unsigned")
    })

    it("is refused if a byte of the body is altered, unless it is a token, which covers no body", () => {
      if (name === "a token") return assert.isObject(verdict(delivery, { body: "{ }" }))
      assert.strictEqual(verdict(delivery, { body: `${delivery.body} ` }), "mismatch")
      assert.strictEqual(verdict(delivery, { body: `x${delivery.body.slice(1)}` }), "mismatch")
    })

    it("is refused outside the window, in the past and in the future, if it carries a time", () => {
      if (!timed.includes(name)) return assert.isObject(verdict(delivery, { now: delivery.now + 100_000 }))
      const window = delivery.verification.maxAgeSeconds
      const found = verdict(delivery)
      const sentAt = typeof found === "string" ? 0 : Math.floor((found.occurredAt ?? 0) / 1_000)
      assert.isObject(verdict(delivery, { now: sentAt + window }))
      assert.isObject(verdict(delivery, { now: sentAt - window }))
      assert.strictEqual(verdict(delivery, { now: sentAt + window + 1 }), "stale")
      assert.strictEqual(verdict(delivery, { now: sentAt - window - 1 }), "stale")
    })

    it("is not a new delivery when it is replayed with another webhook-id", () => {
      if (name === "standard-webhooks") {
        const headers = { ...delivery.headers, "webhook-id": "msg_2" }
        return assert.strictEqual(verdict(delivery, { headers }), "mismatch")
      }
      const found = verdict(delivery, { headers: { ...delivery.headers, "webhook-id": "another" } })
      assert.deepStrictEqual(found, verdict(delivery))
    })

    it("has an identity that is signed: its id, its time, or else its signature, however that is written", () => {
      const found = verdict(delivery)
      if (typeof found === "string") return assert.fail(found)
      if (timed.includes(name)) return assert.isNull(found.signature)
      assert.match(found.signature ?? "", /^[0-9a-f]{64}$|^[\w+/]{43}$/)
      const headers = Object.fromEntries(
        Object.entries(delivery.headers).map(([header, value]) => {
          if (header.endsWith("sha256")) return [header, value.replace("=", "").replaceAll("+", "-")]
          return [header, header.endsWith("256") ? value.toUpperCase().replace("SHA", "sha") : "another"]
        })
      )
      const again = verdict(delivery, { headers })
      if (typeof again === "string") return assert.fail(again)
      assert.deepStrictEqual([again.signature, again.deliveryId], [found.signature, "another"])
    })

    it("is refused with garbage in its signature and time headers", () => {
      for (const garbage of [
        "",
        ",",
        "=",
        "v1=",
        "t=,v1=",
        "sha256=",
        "v1,",
        "\u00e9",
        "t=1e9,v1=00",
        "x".repeat(5_000)
      ]) {
        const headers = Object.fromEntries(Object.keys(delivery.headers).map((header) => [header, garbage]))
        assert.isString(verdict(delivery, { headers }), garbage)
      }
    })
  }
)

describe("a secret of Standard Webhooks", () => {
  it.each([`whsec_${Buffer.alloc(16, 1).toString("base64")}`, "whsec_no base64", "plain text"])(
    "%s is not taken for one that does not match",
    (secret) => {
      const delivery = deliveries["standard-webhooks"] ?? assert.fail("no delivery")
      assert.strictEqual(verdict(delivery, { secrets: [secret] }), "secret_form")
      assert.strictEqual(verdict(delivery, { secrets: [secret], headers: {} }), "unsigned")
      assert.isObject(verdict(delivery, { secrets: [secret, delivery.secret] }))
    }
  )
})

describe("a scheme that signs neither an id nor a time", () => {
  const sent = (more: object, text: string, headers: { readonly [name: string]: string } = {}) => {
    const verification = rule({ scheme: "hmac", secretName: "S", header: "x-signature", ...more })
    return verdict({
      verification,
      secret: "secret",
      headers: { "x-signature": sign("secret", text), "x-id": "1", ...headers },
      body: "{}",
      now
    })
  }
  const signatureOf = (found: ReturnType<typeof verdict>) =>
    typeof found === "string" ? assert.fail(found) : found.signature

  it("is recognised by its signature if it names the header of an id, which anyone could change", () => {
    assert.strictEqual(signatureOf(sent({ idHeader: "x-id" }, "{}")), sign("secret", "{}"))
    assert.strictEqual(signatureOf(sent({ idHeader: "x-other" }, "{}")), sign("secret", "{}"))
  })

  it("is recognised by nothing without the header of an id: equal bodies are two events", () => {
    assert.isNull(signatureOf(sent({}, "{}")))
  })

  it("is recognised by the id, where that is signed", () => {
    assert.isNull(signatureOf(sent({ idHeader: "x-id", payload: "{id}.{body}" }, "1.{}")))
  })
})

describe("a preset", () => {
  it("determines the scheme, also in records of before this was required", () => {
    const { stripe } = deliveries
    if (stripe === undefined) return assert.fail()
    assert.isObject(verdict(stripe, { verification: { ...stripe.verification, scheme: "hmac" } }))
  })
})

describe("what recognises a repetition", () => {
  it.each<readonly [value: Json, found: string | null]>([
    ["", null],
    [" \t", null],
    [null, null],
    ["x", "x"],
    [0, "0"],
    [false, "false"],
    [{ b: 1, a: [] }, '{"a":[],"b":1}']
  ])("%j at the deduplication key is %j", (id, found) => {
    assert.strictEqual(deduplicationValue({ webhook: { deduplicationKey: "$.id" } }, { id }), found)
    assert.isNull(deduplicationValue({ webhook: { deduplicationKey: "$.gone" } }, { id }))
    assert.isNull(deduplicationValue({ webhook: null }, { id }))
  })

  it("is no blank id of a delivery: another place that has one counts", () => {
    const { headers, ...stripe } = deliveries["stripe"] ?? assert.fail()
    const verification = { ...stripe.verification, idHeader: "x-id" }
    const idOf = (id: string) => {
      const found = verdict({ ...stripe, verification, headers: { ...headers, "x-id": id } })
      return typeof found === "string" ? found : found.deliveryId
    }
    assert.strictEqual(idOf("h-1"), "h-1")
    for (const blank of ["", " "]) assert.strictEqual(idOf(blank), ids["stripe"])
    const unsigned: Delivery = { verification: rule({ scheme: "none" }), secret: "", headers: {}, body: "{}", now }
    assert.deepInclude(verdict({ ...unsigned, headers: { "webhook-id": " " } }), { deliveryId: null })
  })
})

describe("the scheme none", () => {
  const delivery: Delivery = { verification: rule({ scheme: "none" }), secret: "", headers: {}, body: "{}", now }

  it("accepts unsigned requests, with the id that the sender gives", () => {
    assert.deepStrictEqual(verdict(delivery), { deliveryId: null, occurredAt: null, signature: null })
    assert.deepStrictEqual(verdict(delivery, { headers: { "webhook-id": "msg_9" } }), {
      deliveryId: "msg_9",
      occurredAt: null,
      signature: null
    })
  })

  it("refuses a request whose webhook-timestamp is outside the window", () => {
    assert.isObject(verdict(delivery, { headers: { "webhook-timestamp": String(now - 299) } }))
    assert.strictEqual(verdict(delivery, { headers: { "webhook-timestamp": String(now - 301) } }), "stale")
    assert.strictEqual(verdict(delivery, { headers: { "webhook-timestamp": "soon" } }), "malformed")
  })
})
