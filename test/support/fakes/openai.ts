/** An OpenAI-compatible server: limits in every answer, their resets as durations. */
import { startFake, type Fake, type Reply } from "./Fake.js"

const models = ["gpt-4o-mini", "text-embedding-3-small"].map((id) => ({ id, object: "model", owned_by: "acme" }))
const no = (status: number, message: string, code: string | null): Reply => ({
  status,
  json: { error: { message, type: "invalid_request_error", param: null, code } }
})

export const openaiFake = (): Promise<Fake> =>
  startFake({
    headers: () => ({
      "x-ratelimit-limit-requests": "500",
      "x-ratelimit-remaining-requests": "499",
      "x-ratelimit-reset-requests": "1m2.5s"
    }),
    guard: (asked) =>
      asked.headers.authorization === "Bearer sk-fake"
        ? null
        : no(401, "Incorrect API key provided", "invalid_api_key"),
    routes: {
      "GET /v1/models": () => ({ json: { object: "list", data: models } }),
      "GET /v1/models/:id": (asked) => {
        const model = models.find(({ id }) => id === asked.params["id"])
        return model === undefined ? no(404, "The model does not exist", "model_not_found") : { json: model }
      },
      "POST /v1/chat/completions": (asked) => {
        const { messages, model, ...others } = asked.json()
        if (!models.some(({ id }) => id === model)) return no(404, "The model does not exist", "model_not_found")
        const content = `${JSON.stringify(messages)} ${Object.keys(others).join(" ")}`
        const message = { role: "assistant", content }
        return { json: { id: "chatcmpl-1", model, choices: [{ index: 0, message, finish_reason: "stop" }], usage: {} } }
      },
      "POST /v1/embeddings": (asked) => {
        const { input, model } = asked.json()
        const texts = Array.isArray(input) ? input : [input]
        const data = texts.map((_, index) => ({ object: "embedding", index, embedding: [0.1, 0.2] }))
        return { json: { object: "list", model, data, usage: { prompt_tokens: texts.length } } }
      }
    }
  })
