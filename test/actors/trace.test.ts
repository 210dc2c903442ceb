import { assert, describe, it } from "@effect/vitest"
import { type StepRow } from "../../src/actors/ports/run/Journal.js"
import { Recorded, stepRow, type TracedCall } from "../../src/actors/execution/trace/Trace.js"
import { makeScrubber } from "../../src/domain/access/Redaction.js"
import { isObject, type Json } from "../../src/domain/Json.js"

const offload = { id: () => "blob_1" as never, sha256: () => "sha" }
const call = (args: ReadonlyArray<Json>, value: Json): TracedCall => ({
  id: 3,
  row: 3,
  inStep: undefined,
  name: "fetch",
  step: "fetch",
  nth: 1,
  args,
  attempts: [{ startedAt: 0, finishedAt: 5, error: null }],
  startedAt: 0,
  finishedAt: 5,
  result: { ok: true, value },
  json: JSON.stringify(value),
  notes: { actionVersion: null, isMocked: false, earlierAttempts: 0, attempts: [] } as TracedCall["notes"]
})
const shown = ({ record }: StepRow): { readonly [member: string]: Json } => JSON.parse(record.text)
const show = (args: ReadonlyArray<Json>, value: Json, secrets: ReadonlyArray<string> = []) =>
  shown(stepRow(call(args, value), makeScrubber(secrets), offload, new Recorded()))

describe("The trace of a call", () => {
  it("has the values of a call without secrets as they are", () => {
    const value = {
      status: 200,
      headers: [["content-type", "text/html"]],
      body: '{"a":"\u00e9\\u0000 \u2028"}',
      more: [null, true, 1.5]
    }
    const step = show([{ url: "https://example.com", headers: [["accept", "*/*"]] }], value)
    assert.deepStrictEqual(step["output"], value)
    assert.deepStrictEqual(step["input"], [{ url: "https://example.com", headers: [["accept", "*/*"]] }])
    assert.deepInclude(step, { name: "fetch#2", index: 3, error: null, durationMs: 5 })
  })

  it("replaces what has the name of a secret, wherever it stands", () => {
    const secret = "s3cr3t-value"
    const places: ReadonlyArray<Json> = [
      { password: secret },
      { deep: [{ client_secret: secret }] },
      { headers: { Authorization: secret } },
      { headers: [["Set-Cookie", secret]] },
      [["x-api-key", secret]],
      { "API-Key": { nested: secret } }
    ]
    for (const place of places) {
      assert.notInclude(JSON.stringify(show([place], place)), secret, JSON.stringify(place))
    }
  })

  it("replaces values of secrets, and characters that cannot be stored", () => {
    const step = show(
      ["a", { b: "the key hunter2-hunter2" }],
      { text: "\u0000 and \ud800", "na\u0000me": "hunter2-hunter2" },
      ["hunter2-hunter2"]
    )
    assert.notInclude(JSON.stringify(step), "hunter2")
    const output = step["output"]
    assert.isTrue(isObject(output ?? null))
    assert.deepStrictEqual(output, { text: "\uFFFD and \uFFFD", "na\uFFFDme": "[redacted]" })
  })

  it("has the key by which the receiver knows a repetition, without secrets", () => {
    const keyOf = (idempotencyKey: string | undefined) => {
      const made = call([], null)
      const notes = idempotencyKey === undefined ? made.notes : { ...made.notes, idempotencyKey }
      const scrub = makeScrubber(["hunter2-hunter2"])
      return shown(stepRow({ ...made, notes }, scrub, offload, new Recorded()))["idempotencyKey"]
    }
    assert.isUndefined(keyOf(undefined))
    assert.strictEqual(keyOf("order-5"), "order-5")
    assert.strictEqual(keyOf("hunter2-hunter2\u0000"), "[redacted]\uFFFD")
    assert.strictEqual(keyOf("x".repeat(1_000_000)), "x".repeat(256))
    assert.notInclude(String(keyOf(`${"x".repeat(250)}hunter2-hunter2`)), "hunter")
  })

  it("refers to a value that is too large", () => {
    const recorded = new Recorded()
    const large = { body: "x".repeat(300 * 1024) }
    const step = shown(stepRow(call([], large), makeScrubber([]), offload, recorded))
    assert.deepStrictEqual(step["output"], { $blob: "blob_1", bytes: JSON.stringify(large).length, sha256: "sha" })
    assert.deepStrictEqual(
      recorded.blobs.map(({ content }) => content.text),
      [JSON.stringify(large)]
    )
  })
})
