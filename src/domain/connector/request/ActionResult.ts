/**
 * Turns a provider's answer into the action's result or a typed failure: for any status, an error in a success, HTML, an
 * empty or a broken body. Pure. Contract: connector definition.
 */
import { Either, Encoding } from "effect"
import { type Json, type JsonObject, findUnstorable, unstorableMessage } from "../../Json.js"
import type { ActionDefinition } from "../Action.js"
import { meetsCondition } from "../../expression/ConditionEvaluation.js"
import type { ConnectorDefinition } from "../Definition.js"
import { valueAt } from "../../expression/Path.js"
import type { PatternLookup } from "../../expression/PatternProgram.js"
import { answerSteps, StepBudget } from "../../expression/StepBudget.js"
import {
  answerJson,
  answerText,
  mediaType,
  type ProviderAnswer,
  type ProviderFailure,
  readAnswerJson
} from "./ProviderAnswer.js"
import { readRateHeaders } from "./RateReading.js"
import { isTransient } from "./Retry.js"
import { asText, renderAll } from "../../expression/Template.js"

/** The result of an action's answer. `now`: Unix milliseconds. `args`: those of the call, which `map` may read. */
export const actionResult = (
  definition: Pick<ConnectorDefinition, "rateLimit">,
  action: ActionDefinition,
  answer: ProviderAnswer,
  now: number,
  patterns: PatternLookup,
  args: Json = {}
): Either.Either<Json, ProviderFailure> => {
  const { remaining, retryAfterAt } = readRateHeaders(definition, answer.headers, now)
  // GitHub and others answer 403 to an exceeded limit, with no calls remaining or a `retry-after`.
  const limited = answer.status === 403 && (remaining === 0 || retryAfterAt !== null)
  const retryAfterMillis = retryAfterAt === null ? null : Math.max(0, retryAfterAt - now)
  const failed = (message: string | undefined, body: Json, code: string | null, category?: "provider") =>
    Either.left({
      category: category ?? categoryOf(action, limited ? 429 : answer.status, code),
      status: isNotFound(action, code) ? 404 : answer.status,
      message: message ?? errorMessageIn(action, body) ?? messageFromText(answer),
      code,
      ...(isFinal(action, code) ? { isFinal: true } : {}),
      body: shorten(body),
      retryAfterMillis
    })
  if (answer.status < 200 || answer.status > 299) {
    const body = answerJson(answer) ?? answerText(answer)
    return failed(undefined, body, codeOf(action, body))
  }
  const read = readSuccessBody(action, answer)
  if (Either.isLeft(read)) return failed(read.left, answerText(answer), null, "provider")
  const body = read.right
  const { errorWhen } = action.response
  const budget = new StepBudget(answerSteps)
  const isError = errorWhen !== undefined && meetsCondition(errorWhen, body, { patterns, budget })
  // Its result is not known: a success must not be assumed.
  if (budget.isExceeded)
    return failed("errorWhen takes too long for this answer: compare less of it", body, null, "provider")
  if (isError) return failed(undefined, body, codeOf(action, body))
  return Either.right(mapResult(action, answer, body, args))
}

// --- Reading a success ---

const readSuccessBody = (action: ActionDefinition, answer: ProviderAnswer): Either.Either<Json, string> => {
  if (answer.body.length === 0) return Either.right(null)
  const type = mediaType(answer)
  switch (action.response.type) {
    case "text":
      return Either.right(answerText(answer))
    case "base64":
      return Either.right(Encoding.encodeBase64(answer.body))
    case "auto":
      if (isJsonType(type)) return answerText(answer).trim() === "" ? Either.right(null) : readJsonBody(answer, type)
      return Either.right(
        /^text\/|[/+]xml$|javascript|urlencoded/.test(type) ? answerText(answer) : Encoding.encodeBase64(answer.body)
      )
    case "json":
      return answerText(answer).trim() === "" ? Either.right(null) : readJsonBody(answer, type)
  }
}

const readJsonBody = (answer: ProviderAnswer, type: string): Either.Either<Json, string> => {
  const read = readAnswerJson(answer)
  if (read === undefined) {
    return Either.left(
      isJsonType(type)
        ? "the provider's answer has the content type JSON but is not JSON"
        : `the provider answered ${type === "" ? "without a content type" : type} where JSON was expected`
    )
  }
  const { problem, value } = read
  return problem === undefined
    ? Either.right(value)
    : Either.left(`the provider's answer cannot be stored: ${problem.path} ${unstorableMessage[problem.reason]}`)
}

const mapResult = (action: ActionDefinition, answer: ProviderAnswer, body: Json, args: Json): Json => {
  const { map } = action.response
  if (map === undefined) return body
  if (typeof map === "string") return valueAt(body, map) ?? null
  const headers = Object.fromEntries(answer.headers.map(([name, value]) => [name.toLowerCase(), value]))
  const scope: JsonObject = { body, status: answer.status, headers, args }
  return renderAll(map, scope)
}

const isJsonType = (type: string) => /^(?:application|text)\/(?:[\w.+-]*\+)?json$/.test(type)

// --- Recognising errors ---

const categoryOf = (action: ActionDefinition, status: number, code: string | null): ProviderFailure["category"] => {
  const { authCodes, finalCodes, transientCodes } = action.response
  if (code !== null && authCodes.includes(code)) return "auth"
  if (code !== null && transientCodes.includes(code)) return "transient"
  if (status === 401) return "auth"
  if (code !== null && finalCodes.includes(code)) return "provider"
  return isTransient(status) ? "transient" : "provider"
}

const isFinal = ({ response }: ActionDefinition, code: string | null): boolean =>
  code !== null && response.finalCodes.includes(code)

const isNotFound = ({ response }: ActionDefinition, code: string | null): boolean =>
  code !== null && response.notFoundCodes?.includes(code) === true

const codeOf = (action: ActionDefinition, body: Json): string | null => {
  const { errorCode } = action.response
  const paths = errorCode === undefined ? usualCodes : [errorCode]
  for (const path of paths) {
    const found = valueAt(body, path)
    if (typeof found === "string" || typeof found === "number") return String(found).slice(0, maxCodeLength)
  }
  return null
}

const usualCodes = ["error.code", "error.type", "code", "errorCode", "error_code", "errors[0].code", "error"]
const usualMessages = [
  "error.message",
  "error_description",
  "message",
  "errors[0].message",
  "errors[0].detail",
  "errors[0]",
  "errors",
  "detail",
  "title",
  "error"
]

const errorMessageIn = (action: ActionDefinition, body: Json): string | undefined => {
  const { errorMessage } = action.response
  for (const path of errorMessage === undefined ? usualMessages : [errorMessage, ...usualMessages]) {
    const found = valueAt(body, path)
    const text = found === undefined || typeof found === "boolean" ? "" : asText(found).trim()
    if (text !== "" && text !== "[]" && text !== "{}") return text.slice(0, maxMessageLength)
  }
  return undefined
}

const messageFromText = (answer: ProviderAnswer): string => {
  const text = answerText(answer)
  const html = /html/.test(mediaType(answer)) || /^\s*<(?:!doctype|html)/i.test(text)
  const words = html ? (/<title[^>]*>([^<]{1,300})/i.exec(text.slice(0, 20_000))?.[1] ?? "a page of HTML") : text
  const shortText = words.replace(/\s+/g, " ").trim().slice(0, 300)
  return shortText === "" ? `HTTP ${answer.status}` : `HTTP ${answer.status}: ${shortText}`
}

const maxMessageLength = 2_000
const maxCodeLength = 200
/** Characters of the body's JSON. */
const maxBodyLength = 65_536

const shorten = (body: Json): Json => {
  if (typeof body === "string") return body.slice(0, maxBodyLength).toWellFormed().replaceAll("\u0000", "")
  const bad = findUnstorable(body)
  if (bad !== undefined) return `not stored: ${bad.path} ${unstorableMessage[bad.reason]}`
  const text = JSON.stringify(body)
  return text.length <= maxBodyLength ? body : `${text.slice(0, maxBodyLength).toWellFormed()}…`
}
