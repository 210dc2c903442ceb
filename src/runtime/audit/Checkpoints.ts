/**
 * Signed heads of the audit chains, outside the database: an attacker who rewrites the tables cannot rewrite these. One
 * line of JSON each, in `audit-checkpoints.jsonl` of the data directory, within a minute of a change and at the stop.
 */
import { Clock, Effect } from "effect"
import { appendFileSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { operatorText } from "../../domain/OperatorText.js"
import type { ChainEnd, Checkpoint, ClosedBranch } from "../../actors/ports/AuditTrail.js"
import { canonicalJson, type Json } from "../../domain/Json.js"
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
  /** All last checkpoints. */
  readonly all: () => ReadonlyArray<Checkpoint>
  /** Branches that were closed because older data took the place of newer. */
  readonly closedBranches: (organisation: OrganisationId) => ReadonlyArray<ClosedBranch>
  /** Closes the branch of the last checkpoint; the chain goes on from `resumed`. */
  readonly close: (last: Checkpoint, resumed: ChainEnd | null) => Effect.Effect<ClosedBranch, CheckpointNotWritten>
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

/** What the file says. */
interface Content {
  readonly latest: Map<OrganisationId, Checkpoint>
  readonly branches: Map<OrganisationId, Array<ClosedBranch>>
}

const read = (path: string, sign: (text: string) => string): Content => {
  const content: Content = { latest: new Map(), branches: new Map() }
  if (!existsSync(path)) return content
  for (const text of readFileSync(path, "utf8").split("\n")) {
    const line = text === "" ? undefined : parseLine(text)
    if (line === undefined) continue
    const { signature, ...signed } = line
    if (sign(canonicalJson(signed)) === signature) take(content, line)
  }
  return content
}

const take = ({ branches, latest }: Content, line: Checkpoint | ClosedBranch): void => {
  const { organisationId } = line
  if (!("closed" in line)) return void latest.set(organisationId, line)
  // The checkpoint of where the chain goes on follows.
  latest.delete(organisationId)
  const known = branches.get(organisationId)
  if (known === undefined) branches.set(organisationId, [line])
  else known.push(line)
}

/** Ignores a line that a crash has truncated. */
const parseLine = (line: string): Checkpoint | ClosedBranch | undefined => {
  try {
    // Written below; its signature is verified before use.
    return JSON.parse(line) as Checkpoint | ClosedBranch
  } catch {
    return undefined
  }
}

const textOf = (lines: Iterable<Checkpoint | ClosedBranch>): string =>
  [...lines].map((one) => `${JSON.stringify(one)}\n`).join("")

const append = (path: string, checkpoints: ReadonlyArray<Checkpoint | ClosedBranch>): void => {
  makeDirectories(dirname(path))
  appendFileSync(path, textOf(checkpoints), { mode: 0o600 })
}

const shorten = (path: string, { branches, latest }: Content): void => {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= largestBytes) return
  writeFileSync(`${path}.new`, textOf([...[...branches.values()].flat(), ...latest.values()]), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** Reads the file, or begins one. Fails with an exception if the file cannot be read or a signature in it is wrong. */
export const openCheckpoints = (path: string, sign: (text: string) => string): CheckpointFile => {
  const content = read(path, sign)
  shorten(path, content)
  const { branches, latest } = content
  const signed = <A extends object>(unsigned: A): A & { readonly signature: string } => ({
    ...unsigned,
    // Plain objects of JSON.
    signature: sign(canonicalJson(unsigned as unknown as Json))
  })
  const changed = new Map<OrganisationId, Head>()
  return {
    latest: (organisation) => latest.get(organisation) ?? null,
    all: () => [...latest.values()],
    closedBranches: (organisation) => branches.get(organisation) ?? [],
    close: ({ hash, organisationId, seq }, resumed) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const at = new Date(now).toISOString()
        const branch: ClosedBranch = signed({ organisationId, at, closed: { seq, hash }, resumed })
        const lines = [branch, ...(resumed === null ? [] : [signed({ organisationId, ...resumed, at })])]
        return Effect.try({
          try: () => {
            append(path, lines)
            for (const line of lines) take(content, line)
            return branch
          },
          catch: (cause) => new CheckpointNotWritten(path, cause)
        })
      }),
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
        const heads = due.map((head): Checkpoint => signed({ ...head, at }))
        return Effect.try({
          try: () => {
            append(path, heads)
            for (const checkpoint of heads) {
              latest.set(checkpoint.organisationId, checkpoint)
              changed.delete(checkpoint.organisationId)
            }
          },
          catch: (cause) => new CheckpointNotWritten(path, cause)
        })
      })
  }
}
