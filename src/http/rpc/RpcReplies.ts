/** How answers of operations become those of the typed RPC: records without their envelope, failures with their tag. */
import { Duration, Effect } from "effect"
import { type HeldBytes, takeBytes, withHolding } from "../../actors/ports/HeldBytes.js"
import { type Failure, PayloadTooLarge, ProviderFailed, ProviderTimedOut } from "../../domain/Failure.js"
import { GatheredBytes } from "../../domain/GatheredBytes.js"
import type { ExecutionWithValues } from "../../domain/run/ExecutionView.js"
import { rpcLimits } from "../../domain/rpc/RpcLimits.js"
import { errorBody, errorRow } from "../ErrorRows.js"
import { errorOf, type EndedRun, executionSurface, type StartSurface, wentToItsEnd } from "../execution/RunReply.js"
import { defaultRules, type SurfaceRules } from "../pipeline/Pipeline.js"
import { jsonReply, type RawReply, type StreamedBody } from "../Wire.js"
import type { RpcMethod } from "./RpcMethods.js"
import { withMembers } from "./RpcRequest.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"

/**
 * The body of a failure. A message that names a header names the member of the payload that becomes it instead; not one with
 * details, whose paths are the client's own names, nor a provider's words.
 */
const failureBody = (tag: string, row: Parameters<typeof errorBody>[0], requestId: string) => {
  const isOfRequest = (row.details ?? []).length === 0 && !tag.startsWith("Provider")
  return {
    _tag: tag,
    ...errorBody(isOfRequest ? { ...row, message: withMembers(row.message) } : row, requestId),
    ...(row.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: row.retryAfterSeconds })
  }
}

/** The failure as clients get it. `now`: Unix milliseconds. */
export const rpcFailure = (failure: Failure, requestId: string, now: number) =>
  failureBody(failure._tag, errorRow(failure, now), requestId)

/** The rules of the pipeline for calls of the typed RPC, which no page makes. */
export const rpcRules: SurfaceRules = {
  ...defaultRules,
  isOpenToPages: false,
  failureReply: (failure, requestId, now) => {
    const body = rpcFailure(failure, requestId, now)
    return jsonReply(body.statusCode, body)
  },
  errorReply: (row, requestId) => jsonReply(row.status, failureBody("InternalError", row, requestId))
}

// --- Runs ---

const outcomeOf = (run: Pick<EndedRun, "id" | "status" | "statusReason" | "output" | "error">) => ({
  executionId: run.id,
  status: run.status,
  statusReason: run.statusReason,
  output: wentToItsEnd(run) ? run.output : null,
  error: run.status === "completed" ? null : errorOf(run.error)
})

/** What a run came to, from its record. */
export const recordedOutcome = (view: ExecutionWithValues): RawReply => jsonReply(200, outcomeOf(view))

/** Answers with what the run came to. */
export const runSurface: StartSurface = {
  ...executionSurface,
  endedReply: (run) => jsonReply(200, outcomeOf(run))
}

/** Answers with the run's id. */
export const startSurface: StartSurface = {
  ...executionSurface,
  endedReply: ({ id, status }) => jsonReply(200, { executionId: id, status, tier: "instant" })
}

// --- Bodies ---

const decoder = new TextDecoder()
const utf8 = new TextDecoder("utf-8", { fatal: true })

const isTextual = (type: string): boolean =>
  /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml)|application\/x-www-form)/i.test(type)

const textOf = (bytes: Uint8Array, type: string): string | null => {
  if (!isTextual(type)) return null
  try {
    return utf8.decode(bytes)
  } catch {
    return null
  }
}

/** A provider's answer as a value. */
const providerAnswer = ({ headers, status }: RawReply, bytes: Uint8Array) => {
  const body = textOf(bytes, headers["content-type"] ?? "text/plain")
  return { status, headers, body, bodyBase64: body === null ? Buffer.from(bytes).toString("base64") : null }
}

/** Where a provider's answer comes from, how long its body may take, and who pays for its bytes. */
export interface ProviderBodyTerms {
  readonly connector: string
  readonly timeoutMillis: number
  readonly owner: ShareOwner
}

/**
 * Reads a streamed body whole, counted in the node's ledger until the answer is made. Never fails with `Unavailable`: the
 * client takes that to say that nothing was done, and sends the call again, but the provider may have done it.
 */
const collect = (
  ledger: HeldBytes["Type"],
  { connector, owner, timeoutMillis }: ProviderBodyTerms,
  { cancel, pieces }: StreamedBody
) => {
  const failed = (message: string) => new ProviderFailed({ connector, status: null, body: null, message })
  return withHolding(ledger, owner, "answers", (holding) =>
    Effect.gen(function* () {
      const all = new GatheredBytes()
      const iterator = pieces[Symbol.asyncIterator]()
      for (let bytes = 0; ;) {
        const next = yield* Effect.tryPromise({
          try: () => iterator.next(),
          catch: () => failed("the provider's answer broke off")
        })
        if (next.done === true) return all.whole()
        bytes += next.value.byteLength
        if (bytes > rpcLimits.sentFrame) return yield* new PayloadTooLarge({ limitBytes: rpcLimits.sentFrame })
        yield* Effect.mapError(takeBytes(holding, next.value.byteLength), () =>
          failed("the service had no memory for the provider's answer: ask for less at once")
        )
        all.add(next.value)
      }
    })
  ).pipe(
    Effect.timeoutFail({
      duration: Duration.millis(timeoutMillis),
      onTimeout: () =>
        new ProviderTimedOut({
          connector,
          message: `the provider's answer began, and did not end within ${timeoutMillis} ms`
        })
    }),
    Effect.onExit(() => Effect.sync(cancel))
  )
}

/** The value of a provider's answer. */
export const providerValue = (ledger: HeldBytes["Type"], terms: ProviderBodyTerms, reply: RawReply) => {
  const { body } = reply
  if (typeof body === "string") return Effect.succeed(providerAnswer(reply, new TextEncoder().encode(body)))
  if (body instanceof Uint8Array) return Effect.succeed(providerAnswer(reply, body))
  return Effect.map(collect(ledger, terms, body), (bytes) => providerAnswer(reply, bytes))
}

// --- Answers ---

/** The answer to a call, as the text of its JSON: what the operation wrote is not read again. */
export interface RpcAnswer {
  readonly isFailure: boolean
  readonly text: string
}

const textIn = ({ body }: RawReply): string => {
  const text = typeof body === "string" ? body : body instanceof Uint8Array ? decoder.decode(body) : ""
  return text === "" ? "null" : text
}

const envelope = '{"data":'

/** The answer to a call: a record without its envelope, a page as it is. */
export const answerOf = ({ hasEnvelope }: RpcMethod, reply: RawReply): RpcAnswer => {
  const text = textIn(reply)
  if (reply.status >= 400) return { isFailure: true, text }
  return { isFailure: false, text: hasEnvelope ? text.slice(envelope.length, -1) : text }
}

/** The failure in a reply. */
export const failureIn = (reply: RawReply): unknown => JSON.parse(textIn(reply))
