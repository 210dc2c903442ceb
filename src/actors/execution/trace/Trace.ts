/**
 * Makes the steps and values of a run as the API shows them: redacted, capped, without characters that Postgres cannot
 * store. Contract: step trace.
 */
import type { BlobId } from "../../../domain/Ids.js"
import { stepTypes } from "../../../domain/flow/StepTypes.js"
import { isList, isObject, type Json, JsonText } from "../../../domain/Json.js"
import { type RoundedIntegers, roundedWarnings } from "../../../domain/LargeIntegers.js"
import { traceValueBytes } from "../../../domain/Limits.js"
import { type Scrubber } from "../../../domain/access/Redaction.js"
import { isSecretHeader, isSecretMember, redacted, redactHeaders } from "../../../domain/access/SecretNames.js"
import type { CallFailure, CallResult } from "../../../domain/run/RunJournal.js"
import { isRecordService } from "../../../domain/unified/RecordCall.js"
import type { Blob, StepRow } from "../../ports/run/Journal.js"

/** The step that a host call belongs to. */
export interface CallStep {
  /** Its path with iterations: `sync[3].send`. */
  readonly path: string
  /** The call is the step, which has this type and stands in the step `parent`. */
  readonly own?: { readonly type: string; readonly parent: string | null } | undefined
  /** Targets of the step's mapping whose expression had no value. */
  readonly missing?: ReadonlyArray<string> | undefined
}

/** A host call, as its step is made from it. Times are Unix milliseconds. */
export interface TracedCall {
  readonly id: number
  readonly row: number
  readonly inStep: CallStep | undefined
  readonly name: string
  /** Its name in the trace, without its number. */
  readonly step: string
  /** Number of earlier calls of the same step. */
  readonly nth: number
  readonly args: ReadonlyArray<Json>
  readonly attempts: ReadonlyArray<{
    readonly startedAt: number
    readonly finishedAt: number
    readonly error: CallFailure | null
  }>
  readonly startedAt: number
  readonly finishedAt: number | null
  readonly result: CallResult | null
  /** The JSON of the result's value, if it is known. */
  readonly json?: string
  /** Metadata of a connector's action. */
  readonly notes: {
    readonly actionVersion: number | null
    readonly idempotencyKey?: string
    readonly called?: { readonly connector: string; readonly action: string }
    readonly isMocked: boolean
    /** Shown instead of the arguments, and the members of the result that are shown. */
    readonly shown?: { readonly args: ReadonlyArray<Json>; readonly result: ReadonlyArray<string> }
    readonly reuses?: number
    readonly rounded?: RoundedIntegers
  }
}

/** Makes the id and the hash of a value that is too large for its record and is stored as a blob. */
export interface Offload {
  readonly id: () => BlobId
  readonly sha256: (data: string | Uint8Array) => string
}

/** Collects the blobs and the size of values that are prepared for a record. */
export class Recorded {
  /** Values that were too large for their record. */
  readonly blobs: Array<Blob> = []
  /** Approximate characters of all values as JSON. */
  characters = 0
}

type Member = readonly [name: string, value: Json]

/** Maps each item or member; returns the same value when nothing changed, as is usual. */
const mapJson = (value: Json, item: (item: Json) => Json, member: (member: Member) => Member): Json => {
  if (Array.isArray(value)) {
    const next = value.map(item)
    return next.some((one, at) => one !== value[at]) ? next : value
  }
  if (!isObject(value)) return value
  const before = Object.entries(value)
  const after = before.map(member)
  return after.some((one, at) => one !== before[at]) ? Object.fromEntries(after) : value
}

/** Replaces lone surrogates and NUL, which Postgres cannot store. The journal keeps the exact value. */
export const storable = (value: Json): Json =>
  typeof value === "string" ? storableText(value) : mapJson(value, storable, storableMember)

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000")

const storableText = (text: string): string =>
  isStorable(text) ? text : text.toWellFormed().replaceAll("\u0000", "\uFFFD")

const storableMember = (member: Member): Member => {
  const name = storableText(member[0])
  const value = storable(member[1])
  return name === member[0] && value === member[1] ? member : [name, value]
}

/** Redacts members, header pairs and headers with secret names, at any depth. */
const withoutCredentials = (value: Json): Json => {
  if (typeof value !== "object") return value
  if (Array.isArray(value) && value.length === 2) {
    const [name, text] = value
    if (typeof name === "string" && typeof text === "string") return isSecretHeader(name) ? [name, redacted] : value
  }
  return mapJson(value, withoutCredentials, memberWithoutCredentials)
}

const memberWithoutCredentials = (member: Member): Member => {
  const [name, value] = member
  if (isSecretMember(name)) return [name, redacted]
  const next = name === "headers" && isObject(value) ? redactHeaders(value) : withoutCredentials(value)
  return next === value ? member : [name, next]
}

/** Whether the value is shown as it is: no part has the name of a secret, or characters that cannot be stored. */
const isPlain = (value: Json): boolean => {
  if (typeof value === "string") return isStorable(value)
  if (typeof value !== "object" || value === null) return true
  if (isList(value)) {
    const [name] = value
    return !(value.length === 2 && typeof name === "string" && isSecretHeader(name)) && value.every(isPlain)
  }
  for (const name in value) if (isSecretHeader(name) || !isStorable(name) || !isPlain(value[name] ?? null)) return false
  return true
}

const utf8 = new TextEncoder()

/** Adds a value whose JSON is too large for its record to `recorded`, and returns the reference that replaces it. */
const offloadLarge = (text: string, offload: Offload, recorded: Recorded): Json | undefined => {
  recorded.characters += text.length
  // A character has at most three bytes: most values need no exact count.
  if (text.length * 3 < traceValueBytes) return undefined
  const bytes = utf8.encode(text)
  if (bytes.length <= traceValueBytes) return undefined
  const id = offload.id()
  recorded.blobs.push({ id, content: new JsonText(text) })
  return { $blob: id, bytes: bytes.length, sha256: offload.sha256(bytes) }
}

/** The value as the record shows it; a large one is added to `recorded` and replaced by a reference. */
export const shownValue = (value: Json, scrub: Scrubber, offload: Offload, recorded: Recorded): Json => {
  const clean = storable(scrub.scrubJson(value))
  return offloadLarge(JSON.stringify(clean), offload, recorded) ?? clean
}

/** A value as records of the run show it: redacted, and without credentials. */
export const withoutSecrets = (value: Json, scrub: Scrubber): Json =>
  scrub.isEmpty && isPlain(value) ? value : storable(scrub.scrubJson(withoutCredentials(value)))

/** The JSON of an argument or a result as its step shows it: also without credentials. `json`: that of the value, if it is known. */
export const stepValue = (
  value: Json,
  json: string | undefined,
  scrub: Scrubber,
  offload: Offload,
  recorded: Recorded
) => {
  const clean = withoutSecrets(value, scrub)
  const text = clean === value && json !== undefined ? json : JSON.stringify(clean)
  const reference = offloadLarge(text, offload, recorded)
  return reference === undefined ? text : JSON.stringify(reference)
}

export const iso = (millis: number | null): string | null => (millis === null ? null : new Date(millis).toISOString())

const failureJson = (failure: CallFailure, scrub: Scrubber): Json => ({
  name: failure.name,
  message: storable(scrub.scrubText(failure.message)),
  category: failure.category,
  ...(failure.code === undefined ? {} : { code: failure.code }),
  ...(failure.data === undefined ? {} : { data: storable(scrub.scrubJson(failure.data)) })
})

/** The step's name with its number, such as `fetch#2`. */
export const stepName = (call: { readonly step: string; readonly nth: number }): string =>
  `${call.step}#${call.nth + 1}`

/** `connector.crm.list` is a step of the connector `crm` and its action `list`; other calls have neither. */
const connectorOf = (name: string): { readonly connector: string | null; readonly action: string | null } => {
  const [root, connector, action] = name.split(".")
  return root === "connector"
    ? { connector: connector ?? null, action: action ?? null }
    : { connector: null, action: null }
}

/** The name of a call of records that is a step: its fixture names the call, and not the action that it makes. */
const callMember = ({ inStep, name }: TracedCall): { readonly call?: string } =>
  inStep?.own !== undefined && isRecordService(name.slice(0, Math.max(name.indexOf("."), 0))) ? { call: name } : {}

const actionOf = ({ notes, step }: TracedCall) => notes.called ?? connectorOf(step)

/** The types of calls in the trace that are not actions. */
const callTypes = stepTypes.flatMap(({ traced, type }) => (traced === undefined ? [] : [{ ...traced, type }]))
const callType = (name: string) => callTypes.find(({ prefix }) => name.startsWith(prefix))
const typeOf = (name: string): string => callType(name)?.type ?? "action"

/** Characters of an idempotency key that a step shows: a workflow can give one of any length. */
const shownKey = 256

const keyMember = (key: string | undefined, scrub: Scrubber): { readonly idempotencyKey?: string } =>
  key === undefined ? {} : { idempotencyKey: storableText(scrub.scrubText(key).slice(0, shownKey)) }

const outputOf = (
  { json, notes: { shown } }: TracedCall,
  value: Json,
  scrub: Scrubber,
  offload: Offload,
  recorded: Recorded
): string =>
  shown === undefined
    ? stepValue(value, json, scrub, offload, recorded)
    : stepValue(membersOf(value, shown.result), undefined, scrub, offload, recorded)

const statusOf = ({ name, result }: TracedCall): StepRow["status"] => {
  if (result === null) return callType(name)?.isWaiting === true ? "waiting" : "running"
  return result.ok ? "completed" : "failed"
}

const sayString = "let outputSchema of the connector's action say the type string there"

/** The row of a call's step. Blobs that it needs are added to `recorded`. */
export const stepRow = (call: TracedCall, scrub: Scrubber, offload: Offload, recorded: Recorded): StepRow => {
  const { result } = call
  const { action, connector } = actionOf(call)
  const own = call.inStep?.own
  const { actionVersion, idempotencyKey, isMocked, reuses, rounded } = call.notes
  const isReused = reuses !== undefined
  const head = {
    name: own === undefined ? stepName(call) : lastName(call.inStep?.path ?? ""),
    index: call.row,
    type: own === undefined ? typeOf(call.name) : own.type,
    ...placeOf(call),
    connector,
    action,
    ...callMember(call),
    actionVersion,
    ...keyMember(idempotencyKey, scrub),
    ...(isMocked ? { mocked: true } : {}),
    ...(isReused ? { reused: true } : {}),
    ...(rounded === undefined ? {} : { warnings: withoutSecrets(roundedWarnings(rounded, sayString), scrub) }),
    attempts: (isReused ? [] : call.attempts).map((attempt) => ({
      startedAt: iso(attempt.startedAt),
      finishedAt: iso(attempt.finishedAt),
      error: attempt.error === null ? null : failureJson(attempt.error, scrub)
    }))
  }
  const input = stepValue(call.notes.shown?.args ?? call.args, undefined, scrub, offload, recorded)
  const output = result?.ok === true ? outputOf(call, result.value, scrub, offload, recorded) : "null"
  const tail = {
    error: result?.ok === false ? failureJson(result.failure, scrub) : null,
    startedAt: isReused ? null : iso(call.startedAt),
    finishedAt: iso(call.finishedAt),
    durationMs: isReused || call.finishedAt === null ? null : Math.max(0, call.finishedAt - call.startedAt)
  }
  // The values are JSON already, and the largest part.
  const record = `${JSON.stringify(head).slice(0, -1)},"input":${input},"output":${output},${JSON.stringify(tail).slice(1)}`
  const path = head.path === undefined ? {} : { path: head.path }
  return { index: call.row, status: statusOf(call), ...path, record: new JsonText(record) }
}

const membersOf = (value: Json, names: ReadonlyArray<string>): Json =>
  isObject(value) ? Object.fromEntries(names.map((name) => [name, value[name] ?? null])) : value

/** The step that a call is, by its path, else its name. */
export const shownName = (call: Pick<TracedCall, "inStep" | "step" | "nth">): string =>
  call.inStep?.own === undefined ? stepName(call) : call.inStep.path

/** The last name of a path. */
export const lastName = (path: string): string => path.slice(path.lastIndexOf(".") + 1)

/** The members of a step's record that say where in a flow it stands. */
const placeOf = (
  call: TracedCall
): { readonly path?: string; readonly parent?: string | null; readonly missing?: ReadonlyArray<string> } => {
  const { inStep } = call
  if (inStep === undefined) return {}
  const { missing, own, path } = inStep
  const named = missing === undefined ? {} : { missing }
  return own === undefined
    ? { path: `${path}.${stepName(call)}`, parent: path, ...named }
    : { path, parent: own.parent, ...named }
}
