/** Generative AI over the API of OpenAI, which many providers serve. https://platform.openai.com/docs/api-reference */
import { defineBuiltIn } from "../connector/Definition.js"
import {
  type ActionManifest,
  anything,
  args,
  flag,
  fromArgs,
  integer,
  list,
  number,
  oneOf,
  record,
  text,
  upTo
} from "./SchemaShorthands.js"

const headers = {
  "OpenAI-Organization": "{{connection.config.organization}}",
  "OpenAI-Project": "{{connection.config.project}}"
}
const response: NonNullable<ActionManifest["response"]> = {
  errorMessage: "$.error.message",
  errorCode: "$.error.code",
  authCodes: ["invalid_api_key"],
  finalCodes: ["insufficient_quota", "billing_not_active", "billing_hard_limit_reached"]
}
const usage = record({ prompt_tokens: integer, completion_tokens: integer, total_tokens: integer })
const model = record({ id: text, object: text, created: integer, owned_by: text }, "id")

const chat = {
  model: text,
  messages: {
    type: "array",
    minItems: 1,
    items: record(
      {
        role: oneOf("developer", "system", "user", "assistant", "tool"),
        content: anything,
        name: text,
        tool_call_id: text
      },
      "role"
    )
  },
  temperature: { type: "number", minimum: 0, maximum: 2 },
  top_p: { type: "number", minimum: 0, maximum: 1 },
  max_tokens: integer,
  max_completion_tokens: integer,
  n: upTo(128),
  stop: anything,
  seed: integer,
  presence_penalty: number,
  frequency_penalty: number,
  logit_bias: record(),
  logprobs: flag,
  top_logprobs: { type: "integer", minimum: 0, maximum: 20 },
  tools: list(record({ type: text }, "type")),
  tool_choice: anything,
  parallel_tool_calls: flag,
  response_format: record({ type: text }, "type"),
  reasoning_effort: text,
  service_tier: text,
  store: flag,
  metadata: record(),
  prompt_cache_key: text,
  user: text
}
const embedding = {
  model: text,
  /** Texts or tokens. */
  input: { anyOf: [text, list(text), list(integer), list(list(integer))] },
  dimensions: integer,
  encoding_format: oneOf("float", "base64"),
  user: text
}

export const openai = defineBuiltIn({
  svcConnector: 1,
  slug: "openai",
  name: "OpenAI-compatible AI",
  description: "Chat completions and embeddings of OpenAI, or of any service with the same API.",
  kind: "ai",
  version: "1.0.0",
  domain: "openai.com",
  baseUrl: "{{connection.config.baseUrl ?? 'https://api.openai.com/v1'}}",
  connectionConfig: {
    type: "object",
    properties: {
      baseUrl: {
        type: "string",
        title: "Base URL",
        description: "https://api.openai.com/v1, where it is left out",
        pattern: "^https?://"
      },
      organization: { type: "string", title: "Organization" },
      project: { type: "string", title: "Project" }
    }
  },
  auth: [
    { id: "key", type: "api_key", title: "API key", default: true },
    { id: "none", type: "none", title: "No key, for a server of one's own" }
  ],
  test: { action: "listModels", accountLabel: "$.data[0].owned_by" },
  rateLimit: {
    scope: "connection",
    headers: {
      limit: "x-ratelimit-limit-requests",
      remaining: "x-ratelimit-remaining-requests",
      reset: "x-ratelimit-reset-requests",
      resetFormat: "duration",
      retryAfter: "retry-after"
    }
  },
  retry: { on: [408, 409, 429, 500, 502, 503, 504, "network"] },
  actions: [
    {
      name: "createChatCompletion",
      title: "Complete a chat",
      request: { method: "POST", path: "/chat/completions", headers, body: fromArgs(...Object.keys(chat)) },
      response,
      inputSchema: args(chat, "model", "messages"),
      outputSchema: record(
        {
          id: text,
          model: text,
          choices: list(record({ index: integer, message: record(), finish_reason: text })),
          usage
        },
        "choices"
      ),
      timeoutMs: 120_000,
      mocks: [
        {
          name: "hello",
          output: {
            id: "chatcmpl-123",
            object: "chat.completion",
            created: 1795245000,
            model: "gpt-4o-mini",
            choices: [{ index: 0, message: { role: "assistant", content: "Hello!" }, finish_reason: "stop" }],
            usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 }
          }
        }
      ]
    },
    {
      name: "createEmbedding",
      title: "Embed texts",
      request: { method: "POST", path: "/embeddings", headers, body: fromArgs(...Object.keys(embedding)) },
      response,
      inputSchema: args(embedding, "model", "input"),
      outputSchema: record(
        { model: text, data: list(record({ index: integer, embedding: anything })), usage: record() },
        "data"
      ),
      timeoutMs: 60_000,
      mocks: [
        {
          name: "one",
          output: {
            object: "list",
            model: "text-embedding-3-small",
            data: [{ object: "embedding", index: 0, embedding: [0.0023, -0.0093, 0.0158] }],
            usage: { prompt_tokens: 8, total_tokens: 8 }
          }
        }
      ]
    },
    {
      name: "listModels",
      title: "List models",
      request: { method: "GET", path: "/models", headers },
      response,
      inputSchema: args(),
      outputSchema: record({ data: list(model) }, "data"),
      mocks: [
        { name: "one", output: { object: "list", data: [{ id: "gpt-4o-mini", object: "model", owned_by: "openai" }] } }
      ]
    },
    {
      name: "getModel",
      title: "Get a model",
      request: { method: "GET", path: "/models/{{args.model}}", headers },
      response,
      inputSchema: args({ model: text }, "model"),
      outputSchema: model,
      mocks: [{ name: "one", output: { id: "gpt-4o-mini", object: "model", owned_by: "openai" } }]
    }
  ]
})
