/** `svc.state`: reads are journaled with their result, writes commit together with their journal row. */
import { Context, Data, Duration, Effect } from "effect"
import type { Json } from "../../../domain/Json.js"
import { keyValue } from "../../../domain/Limits.js"
import type { CallFailure, JournalEntry } from "../../../domain/run/RunJournal.js"
import {
  failure,
  type HostCall,
  type HostRequest,
  memberOf,
  refusedCall,
  unavailableFailure,
  WriteRefused
} from "./HostCall.js"
import type { RunSpec } from "../RunSpec.js"
import type { OrganisationId, SpaceId } from "../../../domain/Ids.js"
import type { Fenced, JournalPlace, JournalUnavailable } from "../../ports/run/Journal.js"

/** Which store a key belongs to. `owner`: the workflow, customer or first execution of the narrower scopes, else "". */
export interface Store {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly scope: "ORG" | "INVOCATION" | "WORKFLOW" | "CUSTOMER"
  readonly environment: string
  readonly owner: string
}

/** A change of one value. It is atomic, and applied once for its journal entry. */
export type StateWrite =
  /** `expiresAt`: Unix milliseconds. */
  | { readonly _tag: "Set"; readonly key: string; readonly value: Json; readonly expiresAt: number | null }
  | { readonly _tag: "Delete"; readonly key: string }
  | { readonly _tag: "Increment"; readonly key: string; readonly by: number }
  | { readonly _tag: "CompareAndSet"; readonly key: string; readonly expected: Json; readonly next: Json }

/** The write does not fit the stored value, such as an increment of a value that is no number. */
export class StateRefused extends Data.TaggedError("StateRefused")<{ readonly message: string }> {}

/** `svc.state`: a workflow's durable key-value store. Contract: runtime calls. */
export class KeyValues extends Context.Tag("svc/KeyValues")<
  KeyValues,
  {
    readonly get: (store: Store, key: string) => Effect.Effect<Json, JournalUnavailable>
    /**
     * Writes and records the write in the run's journal in one transaction, so that it happens exactly once however
     * often the run is replayed. `entry` makes the journal row of the result.
     */
    readonly write: (
      store: Store,
      write: StateWrite,
      run: JournalPlace,
      entry: (result: Json) => JournalEntry
    ) => Effect.Effect<Json, StateRefused | Fenced | JournalUnavailable>
  }
>() {}

const scopes = ["ORG", "INVOCATION", "WORKFLOW", "CUSTOMER"] as const
const isScope = (value: unknown): value is Store["scope"] => scopes.some((scope) => scope === value)

const encoder = new TextEncoder()
/** UTF-8 bytes of a key; characters where these alone are too many. */
const byteLength = (text: string): number =>
  text.length > keyValue.keyBytes ? text.length : encoder.encode(text).length

const maxLifetimeSeconds = Duration.toSeconds(keyValue.lifetime)
const isLifetime = (seconds: Json | undefined): boolean =>
  seconds === undefined ||
  seconds === null ||
  (typeof seconds === "number" && seconds > 0 && seconds <= maxLifetimeSeconds)

const storeOf = (spec: RunSpec, options: Json | undefined): Store | CallFailure => {
  const scope = memberOf(options, "scope") ?? "ORG"
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

const checkKey = (key: Json | undefined): string | CallFailure =>
  typeof key !== "string" || key === ""
    ? failure("TypeError", "svc.state: the key is a string that is not empty")
    : byteLength(key) > keyValue.keyBytes
      ? failure("RangeError", `svc.state: a key has at most ${keyValue.keyBytes} bytes`)
      : key.includes("\u0000") || !key.isWellFormed()
        ? failure("TypeError", "svc.state: the key is not valid Unicode text")
        : key

const isTooLarge = (value: Json): boolean => JSON.stringify(value).length > keyValue.valueBytes

const stateWriteOf = (name: string, key: string, args: ReadonlyArray<Json>, now: number): StateWrite | CallFailure => {
  const value = args[1] ?? null
  if (isTooLarge(value) || isTooLarge(args[2] ?? null)) {
    return failure("RangeError", `svc.state: a value has at most ${keyValue.valueBytes} bytes of JSON`)
  }
  const ttl = memberOf(args[2], "ttlSeconds")
  switch (name) {
    case "state.set":
      return isLifetime(ttl)
        ? { _tag: "Set", key, value, expiresAt: typeof ttl === "number" ? now + ttl * 1000 : null }
        : failure("RangeError", `svc.state.set: ttlSeconds is a number above 0 and at most ${maxLifetimeSeconds}`)
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

/** The position of each call's options among its arguments: after the key and the values. */
const optionsPosition: Record<string, number> = {
  "state.get": 1,
  "state.set": 2,
  "state.delete": 1,
  "state.increment": 2,
  "state.compareAndSet": 3
}

export const makeStateCalls = Effect.gen(function* () {
  const keyValues = yield* KeyValues

  const planState = ({ args, name, spec }: HostRequest, now: number): HostCall => {
    const key = checkKey(args[0])
    if (typeof key !== "string") return refusedCall(key)
    const where = storeOf(spec, args[optionsPosition[name] ?? 1])
    if ("category" in where) return refusedCall(where)
    if (name === "state.get") {
      return {
        _tag: "Read",
        run: keyValues.get(where, key).pipe(
          Effect.map((value) => ({ value })),
          Effect.mapError(unavailableFailure)
        )
      }
    }
    const write = stateWriteOf(name, key, args, now)
    if (!("_tag" in write)) return refusedCall(write)
    return {
      _tag: "Write",
      commit: (place, entry) =>
        Effect.catchTag(
          keyValues.write(where, write, place, entry),
          "StateRefused",
          ({ message }) => new WriteRefused({ failure: failure("TypeError", message) })
        )
    }
  }

  return {
    calls: {
      "state.get": planState,
      "state.set": planState,
      "state.delete": planState,
      "state.increment": planState,
      "state.compareAndSet": planState
    }
  }
})
