/**
 * Signed heads of the audit chains, outside the database: an attacker who rewrites the tables cannot rewrite these. One
 * line of JSON each, in `audit-checkpoints.jsonl` of the data directory, within a minute of a change and at the stop.
 */
import { Clock, Effect } from "effect"
import { appendFileSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { operatorText } from "../../domain/OperatorText.js"
import type { Checkpoint } from "../../actors/ports/AuditTrail.js"
import { canonicalJson } from "../../domain/Json.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { auditSeal } from "../../domain/Limits.js"
import { makeDirectories } from "../process/Directories.js"

/** A larger file is compacted at the start to the last checkpoint of each organisation. */
const largestBytes = 16 * 1024 * 1024

interface Head {
  readonly organisationId: OrganisationId
  readonly seq: number
  readonly hash: string
}

export interface CheckpointFile {
  /** Records the new head of a chain. */
  readonly extended: (head: Head) => void
  /** Writes the heads that have changed since their last checkpoint: those whose last one is a minute old, or all. */
  readonly write: (options: { readonly all: boolean }) => Effect.Effect<void, CheckpointNotWritten>
  readonly latest: (organisation: OrganisationId) => Checkpoint | null
}

/** The data directory cannot be written. */
export class CheckpointNotWritten extends Error {
  readonly _tag = "CheckpointNotWritten"
  constructor(path: string, cause: unknown) {
    super(
      `the audit checkpoint cannot be written to ${path} (${cause instanceof Error ? cause.message : String(cause)}): make the data directory writable`
    )
  }
  get [operatorText]() {
    return this.message
  }
}

const read = (path: string, sign: (text: string) => string): Map<OrganisationId, Checkpoint> => {
  const latest = new Map<OrganisationId, Checkpoint>()
  if (!existsSync(path)) return latest
  for (const line of readFileSync(path, "utf8").split("\n")) {
    if (line === "") continue
    const checkpoint = parseLine(line)
    if (checkpoint === undefined) continue
    const { signature, ...signed } = checkpoint
    if (sign(canonicalJson(signed)) === signature) latest.set(checkpoint.organisationId, checkpoint)
  }
  return latest
}

/** Ignores a line that a crash has truncated. */
const parseLine = (line: string): Checkpoint | undefined => {
  try {
    // Written below; its signature is verified before use.
    return JSON.parse(line) as Checkpoint
  } catch {
    return undefined
  }
}

const textOf = (checkpoints: Iterable<Checkpoint>): string =>
  [...checkpoints].map((one) => `${JSON.stringify(one)}\n`).join("")

const append = (path: string, checkpoints: ReadonlyArray<Checkpoint>): void => {
  makeDirectories(dirname(path))
  appendFileSync(path, textOf(checkpoints), { mode: 0o600 })
}

const shorten = (path: string, latest: ReadonlyMap<OrganisationId, Checkpoint>): void => {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= largestBytes) return
  writeFileSync(`${path}.new`, textOf(latest.values()), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

export const openCheckpoints = (path: string, sign: (text: string) => string): CheckpointFile => {
  const latest = read(path, sign)
  shorten(path, latest)
  const changed = new Map<OrganisationId, Head>()
  return {
    latest: (organisation) => latest.get(organisation) ?? null,
    extended: (head) => {
      if (latest.get(head.organisationId)?.seq !== head.seq) changed.set(head.organisationId, head)
    },
    write: ({ all }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const due = [...changed.values()].filter(({ organisationId }) => {
          const last = latest.get(organisationId)
          return all || last === undefined || now - Date.parse(last.at) >= auditSeal.checkpointMillis
        })
        if (due.length === 0) return Effect.void
        const at = new Date(now).toISOString()
        const signed = due.map((head): Checkpoint => {
          const unsigned = { ...head, at }
          return { ...unsigned, signature: sign(canonicalJson(unsigned)) }
        })
        return Effect.try({
          try: () => {
            append(path, signed)
            for (const checkpoint of signed) {
              latest.set(checkpoint.organisationId, checkpoint)
              changed.delete(checkpoint.organisationId)
            }
          },
          catch: (cause) => new CheckpointNotWritten(path, cause)
        })
      })
  }
}
