/** Recomputes the hash of an audit entry from what the API answers, as docs/audit.md tells it. */
import { createHash } from "node:crypto"
import { canonicalJson, type Json, type JsonObject } from "../../src/domain/Json.js"

export interface AuditCommitmentAnswer extends JsonObject {
  readonly path: string
  readonly hash: string
  readonly salt: string | null
}

export interface AuditAnswer extends JsonObject {
  readonly id: string
  readonly seq: number
  readonly prevHash: string | null
  readonly hash: string
  readonly action: string
  readonly count: number
  readonly commitments: ReadonlyArray<AuditCommitmentAnswer>
}

export const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

/** Each member of the entry, by the path that commitments use. */
const replaced = (value: Json, path: string, commitments: ReadonlyMap<string, string>): Json => {
  const hash = commitments.get(path)
  if (hash !== undefined) return { commitment: hash }
  if (Array.isArray(value)) return value.map((one, i) => replaced(one, `${path}[${i}]`, commitments))
  if (value === null || typeof value !== "object") return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      replaced(one, path === "" ? name : `${path}.${name}`, commitments)
    ])
  )
}

const place = new Set(["commitments", "hash", "prevHash", "seq"])

/** The entry as it is stored, without its place in the chain. */
export const storedForm = (answer: AuditAnswer): JsonObject =>
  replaced(
    Object.fromEntries(Object.entries(answer).filter(([name]) => !place.has(name))),
    "",
    new Map(answer.commitments.map((one) => [one.path, one.hash]))
  ) as JsonObject

export const hashOf = (stored: JsonObject, seq: number, prevHash: string | null): string =>
  sha256(`${prevHash ?? ""}\n${canonicalJson({ ...stored, seq, prevHash })}`)

/** The value at a path such as `changes[0].after`. */
export const valueAtPath = (entry: JsonObject, path: string): Json =>
  path
    .replaceAll(/\[(\d+)\]/g, ".$1")
    .split(".")
    .reduce<Json>((value, name) => Reflect.get(Object(value), name), entry)
