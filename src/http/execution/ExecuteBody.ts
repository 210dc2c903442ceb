/** Reads the body of an execute request by hand: the route is hot, and only the workflow's contract describes `input`. */
import { Either, Schema } from "effect"
import { ValidationFailed, invalid } from "../../domain/Failure.js"
import { Fixture, type Mocking, MockMode } from "../../domain/connector/Mocking.js"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { hasLongDigits } from "../../domain/LargeIntegers.js"
import { bodyBytes, metadataBytes } from "../../domain/Limits.js"
import { askedTexts } from "../../domain/AskedTexts.js"
import { type BodyFailure, exactMember, readJson, roundedRefusal } from "../JsonBody.js"
import type { RawRequest } from "../Wire.js"

/** The body of an execute request. */
export interface ExecuteBody {
  readonly input: JsonObject
  readonly metadata: JsonObject
  readonly callback: { readonly url: string; readonly events: ReadonlyArray<string> | null } | null
  readonly mocking: Mocking | undefined
}

const knownMembers = new Set(["input", "metadata", "callback", "environment", "draft", "mock", "fixtures"])
const callbackEvents = new Set(["completed", "failed", "timed_out", "cancelled"].map((status) => `execution.${status}`))

const invalidMember = (path: string, message: string, code = "INVALID_TYPE") =>
  Either.left(invalid(path, code, message))

const callbackOf = (value: Json | undefined): Either.Either<ExecuteBody["callback"], ValidationFailed> => {
  if (value === undefined || value === null) return Either.right(null)
  if (!isObject(value) || typeof value["url"] !== "string")
    return invalidMember("callback.url", "is required: an https URL", "REQUIRED")
  const events = value["events"]
  if (events === undefined || events === null) return Either.right({ url: value["url"], events: null })
  if (!Array.isArray(events)) return invalidMember("callback.events", "must be a list")
  const unknown = events.find((event) => typeof event !== "string" || !callbackEvents.has(event))
  return unknown === undefined
    ? Either.right({ url: value["url"], events: events.map(String) })
    : invalidMember(
        "callback.events",
        `has "${String(unknown)}"; send some of ${[...callbackEvents].join(", ")}`,
        "INVALID_VALUE"
      )
}

const isMode = Schema.is(MockMode)
const areFixtures = Schema.is(Schema.Array(Fixture))

const mockingOf = (
  mode: Json | undefined,
  fixtures: Json | undefined
): Either.Either<Mocking | undefined, ValidationFailed> => {
  if (mode === undefined && fixtures === undefined) return Either.right(undefined)
  const chosenMode = mode ?? "partial"
  if (!isMode(chosenMode)) return invalidMember("mock", "must be none, partial or full", "INVALID_VALUE")
  const fixtureList = fixtures ?? []
  if (!areFixtures(fixtureList))
    return invalidMember("fixtures", "must be a list of {connector, action, input?, output}")
  return Either.right(chosenMode === "none" ? undefined : { mode: chosenMode, fixtures: fixtureList })
}

/** Parses the body. Left: the first thing that is wrong with it. */
export const readExecuteBody = (request: RawRequest): Either.Either<StartBody, BodyFailure> =>
  Either.flatMap(readJson(request, bodyBytes.execute), (json) => bodyOf(json))

const offeredMembers = new Set(["input"])

/** Parses the body of an embed session's start, which says nothing but the input. */
export const readOfferedBody = (request: RawRequest): Either.Either<ExecuteBody, BodyFailure> =>
  Either.flatMap(readJson(request, bodyBytes.execute), (json) => bodyOf(json, offeredMembers))

const flowMembers = new Set(["input", "metadata", "callback"])

/** Parses the body of a call by name, whose environment the header `stage` says. */
export const readFlowBody = (request: RawRequest): Either.Either<ExecuteBody, BodyFailure> =>
  Either.flatMap(readJson(request, bodyBytes.execute), (json) => bodyOf(json, flowMembers))

/**
 * The input with integers beyond 2^53 as text where the workflow's contract says so; `undefined`: it has none. Left: the
 * refusal of one that would be rounded.
 */
export const exactInput = (
  request: RawRequest,
  contract: JsonObject | null
): Either.Either<JsonObject | undefined, ValidationFailed> => {
  // Starts are frequent, and contracts may be large.
  if (!hasLongDigits(request.body)) return Either.right(undefined)
  const read = exactMember(request, "input", askedTexts(contract === null ? [] : [contract]))
  if (read === undefined) return Either.right(undefined)
  const [path] = read.rounded?.paths ?? []
  return path === undefined
    ? Either.right(isObject(read.value) ? read.value : undefined)
    : Either.left(
        roundedRefusal(path, "let the workflow's input contract say the type string there, or send it as text")
      )
}

type StartBody = ExecuteBody & { readonly environment?: string; readonly draft?: boolean }

const bodyOf = (
  json: Json | undefined,
  members: ReadonlySet<string> = knownMembers
): Either.Either<StartBody, ValidationFailed> => {
  if (json === undefined) return Either.right({ input: {}, metadata: {}, callback: null, mocking: undefined })
  if (!isObject(json)) return invalidMember("", "the body must be a JSON object with the member input")
  const unknown = Object.keys(json).find((name) => !members.has(name))
  if (unknown !== undefined)
    return Either.left(
      new ValidationFailed({
        code: "UNKNOWN_FIELD",
        message: `${unknown} is not a member of this request; put the workflow's own data into input`,
        details: [{ path: unknown, code: "UNKNOWN_FIELD", message: "is not a member of this request" }]
      })
    )
  const { draft, environment, input = {}, metadata = {} } = json
  if (!isObject(input)) return invalidMember("input", "must be an object")
  if (!isObject(metadata)) return invalidMember("metadata", "must be an object")
  if (JSON.stringify(metadata).length > metadataBytes)
    return invalidMember("metadata", `must be at most ${metadataBytes} bytes of JSON`, "OUT_OF_RANGE")
  if (environment !== undefined && typeof environment !== "string")
    return invalidMember("environment", "must be a slug")
  if (draft !== undefined && typeof draft !== "boolean") return invalidMember("draft", "must be true or false")
  const parts = Either.all({
    callback: callbackOf(json["callback"]),
    mocking: mockingOf(json["mock"], json["fixtures"])
  })
  return Either.map(parts, ({ callback, mocking }) => ({
    input,
    metadata,
    callback,
    mocking,
    ...(environment === undefined ? {} : { environment }),
    ...(draft === undefined ? {} : { draft })
  }))
}
