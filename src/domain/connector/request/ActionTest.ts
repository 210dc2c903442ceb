/** Tests of a draft's action and of a webhook's calls: what is asked, what is answered, and what of the draft a test uses. */
import { Schema } from "effect"
import { redacted, isSecretHeader } from "../../access/SecretNames.js"
import type { Scrubber } from "../../access/Redaction.js"
import { isList, Json, JsonObject } from "../../Json.js"
import { NullableText } from "../../Scalars.js"
import { parseUrl } from "../../Url.js"
import type { ConnectorDefinition } from "../Definition.js"
import type { ProviderFailure } from "./ProviderAnswer.js"
import type { UnsignedRequest } from "./UnsignedRequest.js"

const connectionId = Schema.String.annotations({ description: "The connection whose credential the call has." })

/** The body of a test of an action. */
export const TestAction = Schema.Struct({
  connectionId: Schema.optional(connectionId),
  args: Schema.optional(JsonObject).annotations({ description: "The arguments, by the action's `inputSchema`." }),
  mock: Schema.optional(Schema.Boolean).annotations({
    description: "Answer from the action's mocks, without a connection and without a call."
  })
}).annotations({ identifier: "TestAction" })
export type TestAction = typeof TestAction.Type

/** The calls that a webhook makes at its provider. */
export const WebhookSnippet = Schema.Literal("subscribe", "unsubscribe", "renew")

/** The body of a test of a webhook's call. */
export const ExecuteWebhook = Schema.Struct({
  snippet: WebhookSnippet,
  connectionId,
  input: Schema.optional(
    Schema.Struct({
      args: Schema.optional(JsonObject),
      event: Schema.optional(JsonObject),
      webhook: Schema.optional(JsonObject),
      subscription: Schema.optional(JsonObject)
    })
  ).annotations({
    description:
      'What the templates read: `{ "args": …, "event": { "key": … }, "webhook": { "url": …, "secret": … }, "subscription": { "id": … } }`.'
  })
}).annotations({ identifier: "ExecuteWebhook" })
export type ExecuteWebhook = typeof ExecuteWebhook.Type

/** Characters of JSON of a result, and of a refusal's body. */
const shownLength = 64 * 1024

const outcome = {
  ok: Schema.Boolean.annotations({ description: "false: the provider refused the call, or gave no answer" }),
  status: Schema.NullOr(Schema.Int).annotations({
    description: "the provider's; null: there was no answer, or no call"
  }),
  result: Json.annotations({ description: "what the action gives, without secrets" }),
  isCut: Schema.Boolean.annotations({
    description: "whether the result is too long to show: a text is cut, another value null"
  }),
  error: Schema.NullOr(
    Schema.Struct({
      code: NullableText,
      message: Schema.String,
      body: Json.annotations({ description: "the provider's answer; null if it is too long to show" })
    })
  ),
  durationMs: Schema.Int
} as const

/** What a test of an action gave. */
export const ActionTest = Schema.Struct(outcome).annotations({ identifier: "ActionTest" })
export type ActionTest = typeof ActionTest.Type

/** What a test of a webhook's call gave. */
export const WebhookTest = Schema.Struct({
  ...outcome,
  subscription: Schema.NullOr(
    Schema.Struct({
      id: NullableText.annotations({ description: "what `idFrom` found" }),
      expiresAt: NullableText.annotations({ description: "what `expiresFrom` found" })
    })
  ).annotations({ description: "of `subscribe` and `renew`; null for others, and if the call failed" })
}).annotations({ identifier: "WebhookTest" })
export type WebhookTest = typeof WebhookTest.Type

/**
 * The definition of a test call: where the draft's action sends its request is the draft's, all else, and so how the
 * connection signs in, is of the version that the connection uses.
 */
export const testedDefinition = (
  used: ConnectorDefinition,
  { baseUrl, transport }: Pick<ConnectorDefinition, "baseUrl" | "transport">
): ConnectorDefinition => ({ ...used, baseUrl, transport })

/** Whether the request goes to one of the origins, by the URL that is called. */
export const staysWithin = (origins: ReadonlyArray<string>, { origin, url }: UnsignedRequest): boolean => {
  const target = parseUrl(url)
  return target !== undefined && `${target.protocol}//${target.host}` === origin && origins.includes(origin)
}

// --- What is shown ---

const withoutNamedSecrets = (value: Json): Json => {
  if (typeof value !== "object" || value === null) return value
  if (isList(value)) return value.map(withoutNamedSecrets)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isSecretHeader(name) ? redacted : withoutNamedSecrets(member)])
  )
}

/** A value of a provider without secrets: neither values that the scrubber knows, nor members with the name of one. */
export const withoutProviderSecrets = (value: Json, { scrubJson }: Scrubber): Json =>
  scrubJson(withoutNamedSecrets(value))

const bounded = (clean: Json): Pick<ActionTest, "isCut" | "result"> => {
  if (JSON.stringify(clean).length <= shownLength) return { result: clean, isCut: false }
  return { result: typeof clean === "string" ? clean.slice(0, shownLength).toWellFormed() : null, isCut: true }
}

/** The outcome of a call with this result, which has no secrets any more. `status`: null for a mock. */
export const passedTest = (
  clean: Json,
  { durationMs, status }: Pick<ActionTest, "durationMs" | "status">
): ActionTest => ({ ok: true, status, ...bounded(clean), error: null, durationMs })

/** The outcome of a call that the provider refused or did not answer. */
export const refusedTest = (
  { body, code, message, status }: ProviderFailure,
  scrubber: Scrubber,
  durationMs: number
): ActionTest => ({
  ok: false,
  status,
  result: null,
  isCut: false,
  error: {
    code: code === null ? null : scrubber.scrubText(code),
    message: scrubber.scrubText(message),
    body: bounded(withoutProviderSecrets(body, scrubber)).result
  },
  durationMs
})
