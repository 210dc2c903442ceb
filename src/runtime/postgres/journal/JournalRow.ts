/**
 * Encodes and decodes journal entries as rows. The entry is sealed to its place; the members that SQL needs are columns
 * beside it. No other module encodes or decodes entries.
 */
import type { OrganisationVault } from "../../../actors/ports/Vault.js"
import {
  type AttemptEntry,
  type CallFailure,
  type CallOutcome,
  type CallResult,
  type DoneEntry,
  guestError,
  type JournalEntry,
  outcomeOf,
  type RecordedResult,
  type ReusedEntry,
  type StartEntry,
  type TimerEntry
} from "../../../domain/run/RunJournal.js"

/** The values of the column `kind`. `doneBefore`: an ended call of a release whose rows did not tell how it ended. */
const kinds = {
  start: 0,
  doneBefore: 1,
  timer: 2,
  attempt: 3,
  ok: 4,
  failed: 5,
  transient: 6,
  reused: 7,
  output: 8
} as const

const kindOf = (entry: JournalEntry): number => (entry.kind === "done" ? kinds[entry.outcome] : kinds[entry.kind])

/** How the call of a row ended, if its column tells. */
export const outcomeOfKind = (kind: number): CallOutcome | undefined =>
  kind === kinds.ok ? "ok" : kind === kinds.failed ? "failed" : kind === kinds.transient ? "transient" : undefined

/** A row is that of an ended call. */
export const isDoneKind = (kind: number): boolean =>
  kind === kinds.doneBefore || kind === kinds.ok || kind === kinds.failed || kind === kinds.transient

/** A row is the output of a step. */
export const isOutputKind = (kind: number): boolean => kind === kinds.output

/** A condition on the row `j`: it is small for every run, and has no result. */
export const isSmallKind = `j.kind IN (${kinds.start}, ${kinds.timer}, ${kinds.attempt}, ${kinds.reused})`

/** The columns of a row in a statement's JSON document, which carries bytes as base64. */
export const journalColumns = {
  id: "text",
  seq: "int",
  epoch: "int",
  kind: "smallint",
  call: "int",
  hash: "text",
  place: "text",
  body: "text"
} as const

/** The expressions that insert these columns. */
export const journalValues = "id, seq, epoch, kind, call, hash, place, decode(body, 'base64')"

const placeOf = (id: string, seq: number) => ({ table: "journal", column: "body", row: `${id}/${seq}` }) as const

/** Separates the head of an ended call from its result. JSON without indentation has no line end. */
const lineEnd = 10

/** The text of an entry. A result stays as it is behind its head, so that a replay need not parse it. */
const textOf = (entry: JournalEntry): string => {
  if (entry.kind !== "done" && entry.kind !== "output") return JSON.stringify(entry)
  const { json, ...members } = entry
  const { outcome: _, place: __, ...head } = "outcome" in members ? members : { ...members, outcome: "ok" }
  return `${JSON.stringify(head)}\n${typeof json === "string" ? json : Buffer.from(json).toString()}`
}

const base64 = ({ buffer, byteLength, byteOffset }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64")

/** Seals an entry into its row. `epoch` is the writer's. */
export const encodeEntry = (
  vault: OrganisationVault,
  { epoch, id, seq }: { readonly id: string; readonly epoch: number; readonly seq: number },
  entry: JournalEntry
) => ({
  id,
  seq,
  epoch,
  kind: kindOf(entry),
  call: "call" in entry ? entry.call : null,
  hash: "hash" in entry ? entry.hash : null,
  place: "place" in entry ? entry.place : undefined,
  body: base64(vault.seal(placeOf(id, seq), textOf(entry)))
})

/** A row that Postgres returned. */
export interface SealedRow {
  readonly seq: number
  readonly kind: number
  readonly body: Uint8Array
}

const openRow = (vault: OrganisationVault, id: string, { body, seq }: SealedRow): Buffer => {
  const bytes = vault.open(placeOf(id, seq), body)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Seals a row of one run for another run. */
export const moveRow = (vault: OrganisationVault, from: string, to: string, row: SealedRow): Uint8Array =>
  vault.seal(placeOf(to, row.seq), openRow(vault, from, row))

/** The entry of a row without a result. */
export const decodeEntry = (
  vault: OrganisationVault,
  id: string,
  row: SealedRow
): StartEntry | ReusedEntry | TimerEntry | AttemptEntry =>
  // Sealed by `encodeEntry`: its shape is that of an entry.
  JSON.parse(openRow(vault, id, row).toString())

/** The result of a row of an ended call, and how the call ended. */
export const decodeResult = (
  vault: OrganisationVault,
  id: string,
  row: SealedRow
): { readonly outcome: CallOutcome; readonly result: RecordedResult } => {
  const bytes = openRow(vault, id, row)
  const outcome = isOutputKind(row.kind) ? "ok" : outcomeOfKind(row.kind)
  if (outcome === undefined) return decodeEarlierResult(bytes)
  const headEnd = bytes.indexOf(lineEnd)
  // Sealed by `encodeEntry`.
  const head = JSON.parse(bytes.toString("utf8", 0, headEnd)) as Omit<DoneEntry, "json" | "outcome">
  return { outcome, result: { ...head, json: bytes.subarray(headEnd + 1) } }
}

// --- Rows of earlier releases ---

/** An ended call as earlier releases wrote it: one document, its members in this order. */
interface EarlierEntry {
  readonly call: number
  readonly at: number
  readonly result: CallResult
  readonly secret?: DoneEntry["secret"]
}

const earlierHead = /^\{"kind":"done","call":\d+,"hash":"[\w-]*","at":([\d.]+),"result":\{"ok":true,"value":/
/** A larger row is that of no secret, and is taken apart without parsing its value. */
const parsedBytes = 64 * 1024

const decodeEarlierResult = (bytes: Buffer): { readonly outcome: CallOutcome; readonly result: RecordedResult } => {
  const head = bytes.length <= parsedBytes ? null : earlierHead.exec(bytes.toString("latin1", 0, 300))
  if (head !== null) {
    const json = bytes.subarray(head[0].length, bytes.length - "}}".length)
    return { outcome: "ok", result: { at: Number(head[1]), ok: true, json } }
  }
  // An earlier release sealed it.
  const { at, call, result, secret } = JSON.parse(bytes.toString()) as EarlierEntry
  const value = result.ok ? result.value : guestError(result.failure satisfies CallFailure, String(call))
  return {
    outcome: outcomeOf(result),
    result: { at, ok: result.ok, json: JSON.stringify(value), ...(secret === undefined ? {} : { secret }) }
  }
}

/** A condition on `runs`: the run has recorded more than its start, so a replay on another engine might diverge. */
export const hasHistory = `EXISTS (SELECT FROM journal j WHERE j.id = runs.id AND j.kind <> ${kinds.start})`
