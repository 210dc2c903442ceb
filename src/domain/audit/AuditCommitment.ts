/**
 * How an audit entry of a customer keeps its values apart: the chain hashes a salted commitment of each, so that entries
 * verify also after the customer's values are erased. Contract: audit entry and its hash chain.
 */
import type { AuditCommitment, AuditEntry } from "./Audit.js"
import { canonicalJson, isObject, type Json } from "../Json.js"

/** An entry as it is stored and hashed: `{"commitment": <hash>}` stands where a value was. */
export interface StoredAuditEntry extends Omit<AuditEntry, "resource"> {
  readonly resource: { readonly type: string; readonly id: string | null; readonly name: Json }
}

/** The input of a sealed entry's hash: the previous hash, a line feed, and the entry with its sequence number. */
export const auditHashInput = (prevHash: string | null, seq: number, entry: StoredAuditEntry): string =>
  `${prevHash ?? ""}\n${canonicalJson({ ...entry, seq, prevHash })}`

/** A value of an entry, in the order of its commitments, with the salt that its hash needs. */
export type CommittedValue = readonly [salt: string, value: Json]

/** What the API shows instead of an erased value. */
export const erasedValue = "[erased]"

/** SHA-256 of the salt, a line feed, and the value as canonical JSON, in hexadecimal digits. */
export const commitmentOf = (sha256Hex: (text: string) => string, [salt, value]: CommittedValue): string =>
  sha256Hex(`${salt}\n${canonicalJson(value)}`)

/** The entry with each value of `map`; the order of the calls is the order of the values. */
const mapValues = (
  { changes, resource, ...rest }: StoredAuditEntry,
  map: (value: Json, path: string) => Json
): StoredAuditEntry => ({
  ...rest,
  resource: { ...resource, name: map(resource.name, "resource.name") },
  changes: changes.map(({ after, before, path }, i) => ({
    path,
    before: map(before, `changes[${i}].before`),
    after: map(after, `changes[${i}].after`)
  }))
})

/** Takes the values out of an entry. An absent one (`null`) stays. */
export const commitValues = (
  entry: AuditEntry,
  newSalt: () => string,
  sha256Hex: (text: string) => string
): { readonly entry: StoredAuditEntry; readonly values: ReadonlyArray<CommittedValue> } => {
  const values: Array<CommittedValue> = []
  const stored = mapValues(entry, (value) => {
    if (value === null) return null
    const committed = [newSalt(), value] as const
    values.push(committed)
    return { commitment: commitmentOf(sha256Hex, committed) }
  })
  return { entry: stored, values }
}

/** Puts the values back; without them `[erased]` stands in their place. */
export const restoreValues = (
  stored: StoredAuditEntry,
  values: ReadonlyArray<CommittedValue> | undefined
): { readonly entry: AuditEntry; readonly commitments: ReadonlyArray<AuditCommitment> } => {
  const commitments: Array<AuditCommitment> = []
  const entry = mapValues(stored, (value, path) => {
    const hash = isObject(value) ? value["commitment"] : undefined
    if (typeof hash !== "string") return value
    const [salt, opened] = values?.[commitments.length] ?? [null, erasedValue]
    commitments.push({ path, hash, salt })
    return opened
  })
  const { name } = entry.resource
  return {
    entry: { ...entry, resource: { ...entry.resource, name: typeof name === "string" ? name : null } },
    commitments
  }
}
