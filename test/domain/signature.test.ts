import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc, Option, Redacted } from "effect"
import { identityHeaders } from "../../src/domain/access/IdentityHeaders.js"
import * as Signature from "../../src/domain/delivery/Signature.js"
import { makeDigests } from "../../src/runtime/process/Crypto.js"

const digests = makeDigests({ pepper: Redacted.make("pepper of the tests") })
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

const now = 1_795_244_400
const secret = "svs_test_0123456789abcdefghijklmnopqrstuvwxyzABCDE"
const webhookSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
const vector = "43fc3b8dcc6c87100e1fa6c4878ccffe43e35b25bac35a36f86621c83bf62fd1"

const requestWith = (headers: Record<string, string>): Signature.IdentityRequest => ({
  method: "post",
  target: "/api/v1/workflows/wf_b5880b29eb25/execute",
  header: (name) => headers[name],
  bodySha256: sha256(`{"input":{"orderId":"S-1024"}}`)
})
const request = requestWith({ "x-org-id": "cus_01jd0000000000000000000000", "x-user-id": "u_7" })

const signed = (nonce?: string, secrets = [secret]) =>
  Option.getOrThrow(Signature.signIdentity(digests, secrets, request, now, nonce))
const verdict = (
  header: string,
  options: { secrets?: ReadonlyArray<string>; at?: number; of?: Signature.IdentityRequest } = {}
) => Signature.verifyIdentity(digests, options.secrets ?? [secret], options.of ?? request, header, options.at ?? now)
const problem = (result: Either.Either<unknown, Signature.SignatureProblem>) =>
  Either.match(result, { onLeft: (found) => found, onRight: () => "valid" })

describe("x-identity-hmac", () => {
  it("signs the contract's test vector", () => {
    assert.strictEqual(signed(), `t=${now},v1=${vector}`)
    assert.strictEqual(problem(verdict(`t=${now},v1=${vector}`)), "valid")
  })

  it("accepts one right signature among several, by either of two secrets, with white space and unknown members", () => {
    assert.strictEqual(problem(verdict(`t=${now}, v2=x, v1=${"0".repeat(64)}, v1=${vector.toUpperCase()}`)), "valid")
    assert.strictEqual(problem(verdict(signed(), { secrets: ["svs_new", secret] })), "valid")
    assert.strictEqual(problem(verdict(signed("once", ["svs_new", secret]), { secrets: ["svs_new"] })), "valid")
  })

  it("covers the nonce, and returns it to be stored", () => {
    const result = verdict(signed("n-1"))
    assert.strictEqual(Either.getOrThrow(result).nonce, "n-1")
    assert.strictEqual(problem(verdict(signed("n-1").replace("n=n-1", "n=n-2"))), "mismatch")
    assert.strictEqual(problem(verdict(signed("n-1").replace(",n=n-1", ""))), "mismatch")
  })

  it("refuses every other method, target, covered header and body", () => {
    const others: ReadonlyArray<Signature.IdentityRequest> = [
      { ...request, method: "PUT" },
      { ...request, target: `${request.target}?draft=true` },
      { ...request, bodySha256: sha256("") },
      requestWith({ "x-org-id": "cus_01jd0000000000000000000000" }),
      ...identityHeaders.map((name) =>
        requestWith({ "x-org-id": "cus_01jd0000000000000000000000", "x-user-id": "u_7", [name]: "other" })
      )
    ]
    for (const other of others) assert.strictEqual(problem(verdict(signed(), { of: other })), "mismatch")
  })

  it("accepts 300 seconds on either side and no more", () => {
    for (const at of [now - 300, now + 300]) assert.strictEqual(problem(verdict(signed(), { at })), "valid")
    for (const at of [now - 301, now + 301]) assert.strictEqual(problem(verdict(signed(), { at })), "stale")
  })

  it("verifies nothing without a secret or with an empty one", () => {
    assert.strictEqual(problem(verdict(signed(undefined, [""]), { secrets: [""] })), "mismatch")
    assert.strictEqual(problem(verdict(signed(), { secrets: [] })), "mismatch")
  })

  it("refuses malformed headers", () => {
    const bad = [
      "",
      "v1",
      `v1=${vector}`,
      `t=${now}`,
      `t=x,v1=${vector}`,
      `t=-5,v1=${vector}`,
      `t=${now},t=${now},v1=${vector}`,
      `t=${now},v1=${vector.slice(1)}`,
      `t=${now},v1=${vector},n=`,
      `t=${now},v1=${vector},n=${"x".repeat(65)}`,
      `t=${now},v1=${vector},n=a,n=b`,
      `t=${now},${Array.from({ length: 9 }, () => `v1=${vector}`).join(",")}`
    ]
    for (const header of bad) assert.strictEqual(problem(verdict(header)), "malformed", header)
  })

  describe("over text beyond ASCII", () => {
    const messageOf = (headers: Record<string, string>) =>
      Option.getOrThrow(Signature.identityMessage(requestWith(headers), now, ""))
    const over = (bytes: Uint8Array) => `t=${now},v1=${digests.hmacHex(secret, bytes)}`
    const latin1 = (text: string) => Buffer.from(text, "latin1")
    const [inUtf8, inLatin1] = [Buffer.from("Zoë").toString("latin1"), "Zoë"]
    const utf8 = (text: string) => Buffer.from(text)
    const table = [
      ["UTF-8 is sent and signed", inUtf8, over(latin1(messageOf({ "x-user-id": inUtf8 }))), "valid"],
      ["Latin-1 is sent and signed", inLatin1, over(latin1(messageOf({ "x-user-id": inLatin1 }))), "valid"],
      [
        "Latin-1 is sent, and its text signed in UTF-8",
        inLatin1,
        over(utf8(messageOf({ "x-user-id": "Zoë" }))),
        "valid"
      ],
      ["UTF-8 is sent, and Latin-1 signed", inUtf8, over(latin1(messageOf({ "x-user-id": inLatin1 }))), "mismatch"],
      // Otherwise the signature for the user "Zo\xc3\xab" would serve for "Zo\xeb".
      [
        "UTF-8 is sent, and UTF-8 of its bytes signed",
        inUtf8,
        over(utf8(messageOf({ "x-user-id": inUtf8 }))),
        "mismatch"
      ],
      ["another user is signed", inUtf8, over(utf8(messageOf({ "x-user-id": "Zoé" }))), "mismatch"]
    ] as const
    for (const [name, value, header, expected] of table)
      it(`${name}: ${expected}`, () => {
        assert.strictEqual(problem(verdict(header, { of: requestWith({ "x-user-id": value }) })), expected)
      })

    it("signs in UTF-8 what a caller sends in UTF-8", () => {
      for (const user of ["Zoë", "日本", "Ã«"]) {
        const header = Option.getOrThrow(
          Signature.signIdentity(digests, [secret], requestWith({ "x-user-id": user }), now)
        )
        const received = requestWith({ "x-user-id": Buffer.from(user).toString("latin1") })
        assert.strictEqual(problem(verdict(header, { of: received })), "valid", user)
      }
    })
  })

  it("refuses a line break in a header, which could pass for another line", () => {
    const smuggled = requestWith({ "x-org-id": "a\nx-user-id:b" })
    assert.isTrue(Option.isNone(Signature.signIdentity(digests, [secret], smuggled, now)))
    assert.strictEqual(problem(verdict(signed(), { of: smuggled })), "malformed")
  })

  it.prop("never throws, whatever the header", [fc.string()], ([header]) => {
    assert.notStrictEqual(problem(verdict(header)), "valid")
  })
})

describe("Standard Webhooks", () => {
  const message = { id: "msg_1", timestamp: now, body: `{"type":"execution.completed"}` }
  const headersFor = (secrets: ReadonlyArray<string>) =>
    Option.getOrThrow(Signature.signWebhook(digests, secrets, message))

  it("signs the contract's test vector, from text and from bytes", () => {
    const expected = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(now),
      "webhook-signature": "v1,9AcGNi6SNPS5XRNRkCsoLNfENJgoIz5+FMDkBIZbBtU="
    }
    assert.deepStrictEqual(headersFor([webhookSecret]), expected)
    const bytes = { ...message, body: new TextEncoder().encode(message.body) }
    assert.deepStrictEqual(Option.getOrThrow(Signature.signWebhook(digests, [webhookSecret], bytes)), expected)
  })

  it("carries one signature per secret while rotating, and either receiver accepts it", () => {
    const next = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
    const headers = headersFor([next, webhookSecret])
    assert.lengthOf(headers["webhook-signature"].split(" "), 2)
    for (const secrets of [[next], [webhookSecret]]) {
      assert.strictEqual(problem(Signature.verifyWebhook(digests, secrets, headers, message.body, now)), "valid")
    }
  })

  it("refuses another body, id, time, secret, version or shape", () => {
    const headers = headersFor([webhookSecret])
    const verify = (
      changed: Partial<Signature.WebhookHeaders>,
      body = message.body,
      at = now,
      secrets = [webhookSecret]
    ) => problem(Signature.verifyWebhook(digests, secrets, { ...headers, ...changed }, body, at))
    assert.strictEqual(verify({}), "valid")
    assert.strictEqual(verify({}, "{}"), "mismatch")
    assert.strictEqual(verify({ "webhook-id": "msg_2" }), "mismatch")
    assert.strictEqual(verify({ "webhook-timestamp": String(now - 1) }), "mismatch")
    assert.strictEqual(verify({}, message.body, now + 301), "stale")
    assert.strictEqual(verify({}, message.body, now, []), "mismatch")
    assert.strictEqual(
      verify({ "webhook-signature": headers["webhook-signature"].replace("v1,", "v1a,") }),
      "malformed"
    )
    assert.strictEqual(verify({ "webhook-id": "msg.1" }), "malformed")
    assert.strictEqual(verify({ "webhook-timestamp": "soon" }), "malformed")
  })

  it("accepts only secrets of 24 to 64 bytes in base64 after whsec_", () => {
    const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 1).toString("base64")}`
    for (const good of [24, 64])
      assert.strictEqual(Option.getOrThrow(Signature.webhookKey(secretOf(good))).length, good)
    for (const bad of [secretOf(23), secretOf(65), "whsec_", "whsec_!!!!", secretOf(32).slice(6)]) {
      assert.isTrue(Option.isNone(Signature.webhookKey(bad)), bad)
    }
    assert.isTrue(Option.isNone(Signature.signWebhook(digests, ["plain"], message)))
  })
})
