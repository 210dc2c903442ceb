/**
 * What each host call may do. A kind says how it is made safe to repeat: a read is journaled with its result, a write
 * commits together with its journal row, an outside call is made only after everything before it is committed.
 */
import { Clock, Duration, Effect, Encoding, Option, Redacted } from "effect"
import { guest, keyValue } from "../../domain/Limits.js"
import { isObject, type Json } from "../../domain/Json.js"
import type { CallFailure } from "../../domain/RunJournal.js"
import { Egress, type EgressFailure, type EgressResponse } from "../ports/Egress.js"
import { KeyValues, type StateWrite, type Store } from "../ports/KeyValues.js"
import { type Reader, RunReads, type SecretReference, type SecretValue } from "../ports/RunReads.js"
import { makeConnectorCalls } from "./ConnectorCalls.js"
import { makeDbCalls } from "./DbCalls.js"
import { type HostCallResult, failure, type HostCall, type HostRequest, refusedCall } from "./HostCall.js"
import type { RunSpec } from "./RunSpec.js"

const unavailable = (error: { readonly reason: string }) =>
  failure("Unavailable", `the service cannot read its database: ${error.reason}`, "transient")

/** The value of a secret as the guest gets it; a JSON secret comes parsed. */
export const secretAnswer = (found: SecretValue): HostCallResult => {
  const text = Redacted.value(found.value)
  return {
    value: found.type === "json" ? parsed(text) : text,
    secret: { secretId: found.secretId, number: found.number, text }
  }
}

/** Checked to be JSON when the secret was stored. */
const parsed = (text: string): Json => JSON.parse(text)

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The bytes as text, where they are text. */
const utf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

const scopes = ["ORG", "INVOCATION", "WORKFLOW", "CUSTOMER"] as const
const isScope = (value: unknown): value is Store["scope"] => scopes.some((scope) => scope === value)

const encoder = new TextEncoder()
/** Characters that are too many are not counted in bytes. */
const utf8Bytes = (text: string): number =>
  text.length > keyValue.keyBytes ? text.length : encoder.encode(text).length

const mostSeconds = Duration.toSeconds(keyValue.lifetime)
const isLifetime = (seconds: Json | undefined): boolean =>
  seconds === undefined || seconds === null || (typeof seconds === "number" && seconds > 0 && seconds <= mostSeconds)

const member = (value: Json | undefined, name: string): Json | undefined => (isObject(value) ? value[name] : undefined)

export const make = Effect.gen(function* () {
  const egress = yield* Egress
  const keyValues = yield* KeyValues
  const reads = yield* RunReads
  const db = yield* makeDbCalls
  const connector = yield* makeConnectorCalls

  const reader = ({ run, runnable }: RunSpec): Reader => ({
    organisationId: run.organisationId,
    spaceId: run.spaceId,
    workflowId: runnable.workflowId,
    customerId: run.customerId,
    installationId: run.record.installationId,
    environment: run.record.environment
  })

  // --- svc.state ---

  const store = (spec: RunSpec, options: Json | undefined): Store | CallFailure => {
    const scope = member(options, "scope") ?? "ORG"
    if (!isScope(scope)) return failure("TypeError", `svc.state: scope is one of ${scopes.join(", ")}`)
    const { run } = spec
    if (scope === "CUSTOMER" && run.customerId === null) {
      return failure("TypeError", "svc.state: scope CUSTOMER needs a customer, and this run acts for none")
    }
    const owner = { ORG: "", INVOCATION: run.record.rootId, WORKFLOW: run.workflowId, CUSTOMER: run.customerId ?? "" }[
      scope
    ]
    return {
      organisationId: run.organisationId,
      spaceId: run.spaceId,
      scope,
      environment: run.record.environment,
      owner
    }
  }

  const checkedKey = (key: Json | undefined): string | CallFailure =>
    typeof key !== "string" || key === ""
      ? failure("TypeError", "svc.state: the key is a string that is not empty")
      : utf8Bytes(key) > keyValue.keyBytes
        ? failure("RangeError", `svc.state: a key has at most ${keyValue.keyBytes} bytes`)
        : key.includes("\u0000") || !key.isWellFormed()
          ? failure("TypeError", "svc.state: the key is not valid Unicode text")
          : key

  const tooLarge = (value: Json): boolean => JSON.stringify(value).length > keyValue.valueBytes

  const stateWrite = (name: string, key: string, args: ReadonlyArray<Json>, now: number): StateWrite | CallFailure => {
    const value = args[1] ?? null
    if (tooLarge(value) || tooLarge(args[2] ?? null)) {
      return failure("RangeError", `svc.state: a value has at most ${keyValue.valueBytes} bytes of JSON`)
    }
    const ttl = member(args[2], "ttlSeconds")
    switch (name) {
      case "state.set":
        return isLifetime(ttl)
          ? { _tag: "Set", key, value, expiresAt: typeof ttl === "number" ? now + ttl * 1000 : null }
          : failure("RangeError", `svc.state.set: ttlSeconds is a number above 0 and at most ${mostSeconds}`)
      case "state.delete":
        return { _tag: "Delete", key }
      case "state.increment":
        return typeof (args[1] ?? 1) === "number"
          ? { _tag: "Increment", key, by: Number(args[1] ?? 1) }
          : failure("TypeError", "svc.state.increment: the second argument is a number")
      default:
        return { _tag: "CompareAndSet", key, expected: value, next: args[2] ?? null }
    }
  }

  /** Where each call takes its options: after the key and the values. */
  const optionsAt: Record<string, number> = {
    "state.get": 1,
    "state.set": 2,
    "state.delete": 1,
    "state.increment": 2,
    "state.compareAndSet": 3
  }

  const state = ({ args, name, spec }: HostRequest, now: number): HostCall => {
    const key = checkedKey(args[0])
    if (typeof key !== "string") return refusedCall(key)
    const where = store(spec, args[optionsAt[name] ?? 1])
    if ("category" in where) return refusedCall(where)
    if (name === "state.get") {
      return {
        _tag: "Read",
        run: keyValues.get(where, key).pipe(
          Effect.map((value) => ({ value })),
          Effect.mapError(unavailable)
        )
      }
    }
    const write = stateWrite(name, key, args, now)
    return "_tag" in write ? { _tag: "Write", store: where, write } : refusedCall(write)
  }

  // --- svc.secrets, svc.envConfig ---

  const secret = ({ args, spec }: HostRequest): HostCall => {
    const name = args[0]
    if (typeof name !== "string") return refusedCall(failure("TypeError", "svc.secrets.get takes the name of a secret"))
    return {
      _tag: "Read",
      run: reads.secret(reader(spec), name).pipe(
        Effect.mapError(unavailable),
        // One that the key does not reach answers like one that is not there.
        Effect.map(Option.filter(({ secretId }) => spec.start.reach?.secrets?.includes(secretId) !== false)),
        Effect.flatMap(
          Option.match({
            onNone: () =>
              Effect.fail(
                failure(
                  "SecretNotFound",
                  `there is no secret ${name} for this run: create it with POST /api/v1/secrets`,
                  "code",
                  { code: "SecretNotFound" }
                )
              ),
            onSome: (found) => Effect.succeed(secretAnswer(found))
          })
        )
      )
    }
  }

  const setting = ({ args, spec }: HostRequest): HostCall => {
    const key = args[0]
    if (typeof key !== "string") return refusedCall(failure("TypeError", "svc.envConfig.get takes the name of a value"))
    return {
      _tag: "Read",
      run: reads.setting(reader(spec), `env.${key}`).pipe(
        Effect.map((found) => ({ value: Option.getOrElse(found, () => args[1] ?? null) })),
        Effect.mapError(unavailable)
      )
    }
  }

  // --- fetch ---

  const fetchFailure = (error: EgressFailure): CallFailure => {
    switch (error._tag) {
      case "EgressBlocked":
        return failure(
          "TypeError",
          `fetch: ${error.url} cannot be reached from a workflow: ${error.reason}`,
          "provider",
          { code: "BLOCKED" }
        )
      case "EgressUnreachable":
        return failure("TypeError", `fetch: ${error.url} did not answer: ${error.reason}`, "transient", {
          code: "UNREACHABLE"
        })
      case "EgressTimedOut":
        return failure("TimeoutError", `fetch: ${error.url} took longer than ${error.afterMillis} ms`, "transient", {
          code: "TIMED_OUT"
        })
      case "EgressTooLarge":
        return failure(
          "RangeError",
          `fetch: the answer of ${error.url} is larger than ${error.limitBytes} bytes`,
          "provider",
          { code: "TOO_LARGE" }
        )
    }
  }

  /** Text travels as text: the trace can be read, and the guest need not decode it. */
  const body = (bytes: Uint8Array): { readonly body: string } | { readonly bodyBase64: string } => {
    const text = utf8(bytes)
    return text === undefined ? { bodyBase64: Encoding.encodeBase64(bytes) } : { body: text }
  }

  const answerOf = (response: EgressResponse): HostCallResult => ({
    value: {
      status: response.status,
      url: response.url,
      headers: response.headers.map(([name, value]) => [name, value]),
      ...body(response.body)
    }
  })

  const headersOf = (value: Json | undefined): ReadonlyArray<readonly [string, string]> =>
    Array.isArray(value)
      ? value.flatMap((pair) => (Array.isArray(pair) ? [[String(pair[0]), String(pair[1])] as const] : []))
      : []

  const bodyOf = (request: Json | undefined): Uint8Array | string | null => {
    const base64 = member(request, "bodyBase64")
    if (typeof base64 === "string") return Option.getOrNull(Option.getRight(Encoding.decodeBase64(base64)))
    const body = member(request, "body")
    return typeof body === "string" ? body : null
  }

  const fetchCall = ({ args, key }: HostRequest): HostCall => {
    const [request] = args
    const url = member(request, "url")
    const method = String(member(request, "method") ?? "GET").toUpperCase()
    const body = bodyOf(request)
    if (typeof url !== "string") return refusedCall(failure("TypeError", "fetch takes a URL"))
    if (body !== null && body.length > guest.fetchBytes) {
      return refusedCall(failure("RangeError", `fetch: a request body has at most ${guest.fetchBytes} bytes`))
    }
    const given = headersOf(member(request, "headers"))
    // The key lets a receiver that knows such keys recognise a repetition; reads need none.
    const needsKey =
      method !== "GET" && method !== "HEAD" && !given.some(([name]) => name.toLowerCase() === "idempotency-key")
    const timeout = member(request, "timeoutMs")
    return {
      _tag: "Outside",
      run: egress
        .send({
          method,
          url,
          body,
          headers: needsKey ? [...given, ["idempotency-key", key]] : given,
          timeout: Duration.millis(typeof timeout === "number" && timeout > 0 ? Math.min(timeout, 120_000) : 30_000),
          maxBytes: guest.fetchBytes,
          redirects: member(request, "redirect") === "manual" ? 0 : 3
        })
        .pipe(Effect.map(answerOf), Effect.mapError(fetchFailure))
    }
  }

  // --- svc.unified, svc.diff, svc.sync ---

  /** What a workflow does instead of a call that needs the unified models. */
  const insteadOf: Record<string, string> = {
    unified: "call an action of the connector",
    diff: "read both sides by actions of their connectors and compare them in the workflow",
    sync: "write by an action of the target's connector"
  }

  const needsUnifiedModels = (name: string, instead: string): HostCall =>
    refusedCall(
      failure(
        "NotAvailable",
        `svc.${name}: this release has no unified models yet; ${instead}: svc.connector.<slug>.<action>(args)`,
        "code",
        { code: "NOT_AVAILABLE" }
      )
    )

  // --- What there is ---

  const calls: Record<string, (request: HostRequest, now: number) => HostCall> = {
    fetch: fetchCall,
    "secrets.get": secret,
    "envConfig.get": setting,
    "state.get": state,
    "state.set": state,
    "state.delete": state,
    "state.increment": state,
    "state.compareAndSet": state,
    ...db
  }

  /** Made by the prelude for something that a workflow calls otherwise. */
  const internal = new Set(["db.begin", "db.commit", "db.rollback"])

  const notThere = (name: string): HostCall => {
    return refusedCall(
      failure(
        "TypeError",
        `svc.${name} does not exist; a workflow has ${Object.keys(calls)
          .filter((call) => call.includes(".") && !internal.has(call))
          .map((call) => `svc.${call}`)
          .join(", ")} and fetch`
      )
    )
  }

  /** What a call would do; nothing is done yet. */
  const plan = (request: HostRequest): Effect.Effect<HostCall> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const own = Object.hasOwn(calls, request.name) ? calls[request.name] : undefined
      if (own !== undefined) return own(request, now)
      if (request.name.startsWith("connector.")) return connector.plan(request)
      const service = request.name.split(".")[0] ?? ""
      const instead = Object.hasOwn(insteadOf, service) ? insteadOf[service] : undefined
      return instead === undefined ? notThere(request.name) : needsUnifiedModels(request.name, instead)
    })

  /** The value that a journal's reference stands for. */
  const secretAt = (
    spec: RunSpec,
    reference: SecretReference
  ): Effect.Effect<Option.Option<HostCallResult>, CallFailure> =>
    reads
      .secretAt(spec.run.organisationId, reference)
      .pipe(Effect.map(Option.map(secretAnswer)), Effect.mapError(unavailable))

  return { plan, secretAt, write: keyValues.write }
})

export type HostCalls = Effect.Effect.Success<typeof make>
