import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Redacted, Schema } from "effect"
import { ExecutionId, timeOfId, WorkflowId } from "../../src/domain/Ids.js"
import { makeDigests, makeIdentifiers } from "../../src/runtime/process/Crypto.js"

const digests = makeDigests({ pepper: Redacted.make("pepper") })

describe("Digests", () => {
  it("hashes and signs as the standards define", () => {
    assert.strictEqual(digests.sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    assert.strictEqual(digests.sha256Hex(new Uint8Array([97, 98, 99])), digests.sha256Hex("abc"))
    assert.strictEqual(
      digests.hmacHex("key", "The quick brown fox jumps over the lazy dog"),
      "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"
    )
    assert.strictEqual(
      digests.hmacBase64(Buffer.from("key"), "The quick brown fox jumps over the lazy dog"),
      "97yD9DBThCSxMpjmqm+xQ+9NWaFJRhdZl0edvC0aPNg="
    )
  })

  it("stores an API key as its HMAC under the pepper", () => {
    assert.strictEqual(digests.keyHash("svk_live_x"), createHmac("sha256", "pepper").update("svk_live_x").digest("hex"))
    assert.notStrictEqual(
      makeDigests({ pepper: Redacted.make("other") }).keyHash("svk_live_x"),
      digests.keyHash("svk_live_x")
    )
  })

  it("gives an execution the same seed at every replay, and different executions different seeds", () => {
    assert.deepStrictEqual(digests.seed("exec_a"), makeDigests({ pepper: Redacted.make("pepper") }).seed("exec_a"))
    assert.notDeepEqual(digests.seed("exec_a"), digests.seed("exec_b"))
    for (const word of digests.seed("exec_a")) assert.isTrue(Number.isInteger(word) && word >= 0 && word < 2 ** 32)
  })

  it("compares text of any length", () => {
    assert.isTrue(digests.equal("abc", "abc"))
    for (const other of ["abd", "ab", "", "abcd", "äb"]) assert.isFalse(digests.equal("abc", other))
  })

  it("refuses an empty pepper", () => {
    assert.throws(() => makeDigests({ pepper: Redacted.make("") }), /pepper is empty/)
  })
})

describe("Identifiers", () => {
  it("makes ids that decode as their type and contain their time", () => {
    const identifiers = makeIdentifiers(() => 1_795_244_400_123)
    const id = identifiers.next("exec")
    assert.isTrue(Schema.is(ExecutionId)(id))
    assert.strictEqual(timeOfId(id), 1_795_244_400_123)
    assert.isTrue(Schema.is(WorkflowId)(identifiers.workflow()))
  })

  it("later ids sort after earlier ones, also inside a millisecond and when the clock steps back", () => {
    const steps = [5, 5, 5, 4, 3, 5, 6, 6, 1]
    let at = 0
    const identifiers = makeIdentifiers(() => 1_795_244_400_000 + (steps[at++ % steps.length] ?? 0))
    const made = Array.from({ length: 100_000 }, () => identifiers.next("exec"))
    for (let i = 1; i < made.length; i++)
      assert.isTrue((made[i - 1] ?? "") < (made[i] ?? ""), `${made[i - 1]} ${made[i]}`)
  })

  it("makes tokens of any length from the base64url alphabet", () => {
    const identifiers = makeIdentifiers()
    for (const length of [0, 1, 2, 3, 4, 43, 44])
      assert.match(identifiers.token(length), new RegExp(`^[\\w-]{${length}}$`))
    assert.notStrictEqual(identifiers.token(43), identifiers.token(43))
    assert.strictEqual(identifiers.bytes(16).length, 16)
  })
})
