import { Either } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { buildRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import { findAction } from "../../../src/domain/connector/Definition.js"
import { valueAt } from "../../../src/domain/expression/Path.js"
import { readRateHeaders } from "../../../src/domain/connector/request/RateReading.js"
import { openai as builtIn } from "../../../src/domain/connectors/OpenAi.js"
import { makeCaller, type Caller, hasItems, callEveryAction, hasMembers } from "../../support/ConnectorCaller.js"
import type { Fake } from "../../support/fakes/Fake.js"
import { openaiFake } from "../../support/fakes/openai.js"

const openai = builtIn.definition()

let api: Fake
let server: Caller
const config = () => ({ baseUrl: `${api.origin}/v1`, project: "proj_1" })

beforeAll(async () => {
  api = await openaiFake()
  server = makeCaller(openai, api.origin, { method: "key", credential: { apiKey: "sk-fake" }, config: config() })
})
afterAll(() => api.close())

const hello = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hello" }] }

describe("an OpenAI-compatible API", () => {
  it("answers every action", () =>
    callEveryAction(openai, server, {
      createChatCompletion: [
        { ...hello, temperature: 0, parallel_tool_calls: false, response_format: { type: "json_object" } },
        (result) =>
          assert.strictEqual(
            valueAt(result, "choices[0].message.content"),
            `${JSON.stringify(hello.messages)} temperature parallel_tool_calls response_format`
          )
      ],
      createEmbedding: [{ model: "text-embedding-3-small", input: ["a", "b"] }, hasItems("data", 2)],
      listModels: [{}, hasItems("data", 2)],
      getModel: [{ model: "gpt-4o-mini" }, hasMembers({ owned_by: "acme" })]
    }))

  it("embeds tokens as it does texts", async () =>
    hasItems(
      "data",
      2
    )(await server.result("createEmbedding", { model: "text-embedding-3-small", input: [[1, 2], [3]] })))

  it("is OpenAI itself where the connection names no other", () => {
    const action = findAction(openai, "listModels")
    if (action === undefined) return assert.fail("no action")
    const request = Either.getOrThrow(buildRequest(openai, action, { args: {}, config: {}, idempotencyKey: "" }))
    assert.strictEqual(request.url, "https://api.openai.com/v1/models")
    assert.isFalse(request.headers.some(([name]) => name.startsWith("openai-")))
  })

  it("names the project where the connection has one", async () => {
    await server.result("listModels")
    assert.strictEqual(api.asked.at(-1)?.headers["openai-project"], "proj_1")
  })

  it("reads the limit, and the reset that is told as a duration", async () => {
    const { headers } = await server.answer("listModels")
    assert.deepInclude(readRateHeaders(openai, headers, 1_000), { limit: 500, remaining: 499, resetAt: 63_500 })
  })

  it("tells what is refused, and a wrong key as such", async () => {
    const missing = await server.failure("createChatCompletion", { ...hello, model: "none" })
    assert.deepInclude(missing, { category: "provider", code: "model_not_found", message: "The model does not exist" })
    const stranger = makeCaller(openai, api.origin, { method: "key", credential: { apiKey: "no" }, config: config() })
    assert.deepInclude(await stranger.failure("listModels"), { category: "auth", code: "invalid_api_key" })
    const keyless = makeCaller(openai, api.origin, { method: "none", credential: {}, config: config() })
    assert.deepInclude(await keyless.failure("listModels"), { category: "auth" })
    assert.isUndefined(api.asked.at(-1)?.headers.authorization)
  })
})
