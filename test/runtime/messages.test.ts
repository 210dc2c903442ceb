/** Nodes of neighbouring releases understand each other: a message never changes under its number. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { isObject } from "../../src/domain/Json.js"
import {
  addMessages,
  type MessageLock,
  messageLockFile,
  messageLockText,
  messageSchemas,
  type NodeProtocol,
  nodeProtocols,
  removeMessages
} from "../support/messageLock.js"
import {
  type MessageRecords,
  readRecord,
  recordMessages,
  recordsFile,
  recordsFolder
} from "../support/messageRecords.js"

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, "utf8"))

describe("the messages between nodes", () => {
  const lock = readJson(messageLockFile) as MessageLock

  it("have a lock in the form in which it is generated", () =>
    assert.strictEqual(messageLockText(lock), readFileSync(messageLockFile, "utf8")))

  it("are those of the lock, under their numbers", () => {
    // The types without a schema are read from the source by `npm run generate -- --check`.
    const protocols = nodeProtocols({}, {})
    for (const [name, { messages, number }] of Object.entries(protocols))
      for (const [message, shape] of Object.entries(messages))
        assert.deepStrictEqual(lock[name]?.[number]?.[message], shape, `${name}.${message}: run npm run generate`)
  })

  it("are recorded as this release sends them", () =>
    assert.strictEqual(readFileSync(recordsFile, "utf8"), recordMessages(), "run npm run generate"))

  it.each(readdirSync(recordsFolder))(
    "of release %s decode, also with a member that this one does not know",
    (file) => {
      const schemas = messageSchemas()
      let decoded = 0
      for (const [protocol, messages] of Object.entries(readJson(`${recordsFolder}/${file}`) as MessageRecords))
        for (const [message, records] of Object.entries(messages)) {
          const schema = schemas[protocol]?.[message] ?? assert.fail(`${protocol} has no ${message} any more`)
          for (const record of records.map(readRecord)) {
            const value = Schema.decodeUnknownSync(schema)(record)
            decoded += 1
            if (!isObject(record as never)) continue
            const next = { ...(record as object), ofTheNextRelease: { a: [1] } }
            assert.deepStrictEqual(Schema.decodeUnknownSync(schema)(next), value, `${protocol}.${message}`)
          }
        }
      assert.isAbove(decoded, 50)
    }
  )
})

describe("the lock of the messages", () => {
  const before: NodeProtocol = {
    number: 1,
    messages: {
      "Do request": { members: { id: "string", "note?": "string" } },
      "Do answer": { anyOf: [{ members: { _tag: { literal: "Done" }, at: "number" } }, "string"] }
    }
  }
  const { lock } = addMessages({}, { Acme: before })
  const brokenBy = (messages: NodeProtocol["messages"], number = 2) =>
    addMessages(lock, { Acme: { number, messages: { ...before.messages, ...messages } } }).broken

  it("refuses any change under the same number, and a number that skips one", () => {
    const more = { "Do request": { members: { id: "string", "note?": "string", "more?": "number" } } } as const
    assert.match(brokenBy(more, 1)[0] ?? "", /Acme are no longer those of number 1.*raise its number to 2/)
    assert.match(brokenBy(more, 3)[0] ?? "", /number 3, and its lock ends with 1/)
    assert.deepStrictEqual(brokenBy(more), [])
  })

  it("takes optional members, further alternatives and further messages under the next number", () => {
    const { broken, lock: next } = addMessages(lock, {
      Acme: {
        number: 2,
        messages: {
          "Do request": { members: { id: "string", "note?": "string", "more?": "number" } },
          "Do answer": {
            anyOf: [
              { members: { _tag: { literal: "Done" }, at: "number", "by?": "string" } },
              { members: { _tag: { literal: "Waits" } } },
              "string"
            ]
          },
          "Undo request": { members: {} }
        }
      }
    })
    assert.deepStrictEqual(broken, [])
    assert.deepStrictEqual(Object.keys(next["Acme"] ?? {}), ["1", "2"])
    assert.deepStrictEqual(next["Acme"]?.["1"], before.messages)
    assert.deepStrictEqual(removeMessages(next, ["Acme@2"]), lock)
    assert.throws(() => removeMessages(next, ["Acme@3"]), /holds no Acme@3/)
  })

  it.each([
    [
      "a required member",
      { "Do request": { members: { id: "string", "note?": "string", more: "number" } } },
      /more is new and required/
    ],
    ["a member that is gone", { "Do request": { members: { id: "string" } } }, /note\? is gone/],
    [
      "a member that becomes optional",
      { "Do request": { members: { "id?": "string", "note?": "string" } } },
      /id is gone or is no longer required/
    ],
    [
      "a member of another type",
      { "Do request": { members: { id: "number", "note?": "string" } } },
      /Do request\.id is another/
    ],
    ["an alternative that is gone", { "Do answer": { anyOf: ["string"] } }, /Done is gone/],
    [
      "an alternative that changes",
      { "Do answer": { anyOf: [{ members: { _tag: { literal: "Done" }, at: "string" } }, "string"] } },
      /Done\.at is another/
    ]
  ] as const)("refuses %s under any number", (_, messages, reason) => {
    const [broken = "", ...others] = brokenBy(messages)
    assert.match(broken, reason)
    assert.isEmpty(others)
    assert.deepStrictEqual(addMessages(lock, { Acme: { number: 2, messages } }).lock, lock)
  })

  it("misses a message and a protocol that are gone", () => {
    const { "Do request": only = "string" } = before.messages
    assert.match(
      addMessages(lock, { Acme: { number: 2, messages: { "Do request": only } } }).broken[0] ?? "",
      /Do answer is gone/
    )
    assert.match(addMessages(lock, {}).broken[0] ?? "", /protocol Acme is gone/)
  })
})
