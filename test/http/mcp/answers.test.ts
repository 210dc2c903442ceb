/** What an agent is given of an operation's reply, by its size and kind. */
import { assert, describe, it } from "@effect/vitest"
import { adminTools } from "../../../src/http/mcp/admin/AdminTools.js"
import { answerCharacters, toolAnswer } from "../../../src/http/mcp/OperationTool.js"
import { jsonReply } from "../../../src/http/Wire.js"

const use = adminTools.find(({ name }) => name === "svc_connector_import")?.uses[0] ?? assert.fail("no such tool")
const textOf = (length: number) => "a".repeat(length)

describe("an answer", () => {
  it("is the record without its envelope, with the number of its changes where it has another version", () => {
    const reply = jsonReply(200, { data: { slug: "a", version: "1.0.0" } }, { etag: '"7"' })
    const value = { slug: "a", version: "1.0.0", revision: 7 }
    assert.deepStrictEqual(toolAnswer(reply, use), { isError: false, text: JSON.stringify(value), structured: value })
    const numbered = jsonReply(200, { data: { id: "a", version: 7 } }, { etag: '"7"' })
    assert.deepStrictEqual(toolAnswer(numbered, use).structured, { id: "a", version: 7 })
    assert.deepStrictEqual(toolAnswer({ status: 204, headers: {}, body: "" }, use).structured, { done: true })
    const page = { data: [{ id: "a" }], page: { size: 1 } }
    assert.deepStrictEqual(toolAnswer(jsonReply(200, page), use).structured, page)
  })

  it("that is long is cut as a text, and whole as a value", () => {
    const { structured, text } = toolAnswer(jsonReply(200, { data: { long: textOf(answerCharacters) } }), use)
    assert.isBelow(text.length, answerCharacters + 200)
    assert.match(text, /cut: the answer has 65\d{3} characters/)
    assert.deepStrictEqual(structured, { long: textOf(answerCharacters) })
  })

  it("that is too long for a value is the beginning of its text, and no refusal of what was done", () => {
    const { isError, structured, text } = toolAnswer(jsonReply(201, { data: { long: textOf(1024 * 1024) } }), use)
    assert.deepStrictEqual([isError, structured], [false, undefined])
    assert.isBelow(text.length, answerCharacters + 200)
    assert.match(text, /cut: the answer has \d+ characters, and a tool gives at most 1048576/)
  })

  it("that is a refusal names arguments, not the members that they became", () => {
    const details = [{ path: "import.source[2].x", code: "REQUIRED", message: "is required" }]
    const error = { code: "VALIDATION_FAILED", message: "import.source[2].x is required", details }
    const { isError, structured } = toolAnswer(jsonReply(422, error), use)
    assert.isTrue(isError)
    assert.deepInclude(structured, {
      message: "source[2].x is required",
      details: [{ path: "source[2].x", code: "REQUIRED", message: "is required" }]
    })
    const other = { code: "CONFLICT", message: "import.sources is taken", details: [{ path: "import.sources" }] }
    assert.deepInclude(toolAnswer(jsonReply(409, other), use).structured, { message: "import.sources is taken" })
  })
})
