/**
 * Signed heads of the audit chains, outside the database: an attacker who rewrites the tables cannot rewrite these. One
 * line of JSON each, in `audit-checkpoints.jsonl` of the data directory, within a minute of a change and at the stop. Those
 * of other nodes come by `SharedCheckpoints`.
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
  /**
   * Writes the heads that have changed since their last checkpoint: those whose last one is a minute old, or all. Returns
   * the checkpoints.
   */
  readonly write: (options: { readonly all: boolean }) => Effect.Effect<ReadonlyArray<Checkpoint>, CheckpointNotWritten>
  readonly latest: (organisation: OrganisationId) => Checkpoint | null
  /** All last checkpoints. */
  readonly all: () => ReadonlyArray<Checkpoint>
  /** All that the file says now: closed branches, and then the last checkpoints. */
  readonly lines: () => ReadonlyArray<CheckpointLine>
  /** Branches that were closed because older data took the place of newer. */
  readonly closedBranches: (organisation: OrganisationId) => ReadonlyArray<ClosedBranch>
  /** Closes the branch of the last checkpoint; the chain goes on from `resumed`. */
  readonly close: (last: Checkpoint, resumed: ChainEnd | null) => Effect.Effect<ClosedBranch, CheckpointNotWritten>
  /** The lines that are signed by an installation with this pepper, and say more than the file does. */
  readonly newsIn: (lines: ReadonlyArray<string>) => ReadonlyArray<CheckpointLine>
  /** Adds lines of other nodes' files. */
  readonly adopt: (lines: ReadonlyArray<CheckpointLine>) => Effect.Effect<void, CheckpointNotWritten>
}

/** What a line of the file says. */
export type CheckpointLine = Checkpoint | ClosedBranch

export const isBranch = (line: CheckpointLine): line is ClosedBranch => "closed" in line

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
    if (isGenuine(line, sign)) take(content, line)
  }
  return content
}

const isGenuine = ({ signature, ...signed }: CheckpointLine, sign: (text: string) => string): boolean =>
  // Plain objects of JSON.
  sign(canonicalJson(signed as unknown as Json)) === signature

const take = ({ branches, latest }: Content, line: CheckpointLine): void => {
  const { organisationId } = line
  if (!isBranch(line)) return void latest.set(organisationId, line)
  // The checkpoint of where the chain goes on follows.
  latest.delete(organisationId)
  const known = branches.get(organisationId)
  if (known === undefined) branches.set(organisationId, [line])
  else known.push(line)
}

/** Ignores a line that a crash has truncated. */
const parseLine = (line: string): CheckpointLine | undefined => {
  try {
    const parsed: unknown = JSON.parse(line)
    // Its signature is verified before use: then it is one that was written below.
    return typeof parsed === "object" && parsed !== null ? (parsed as CheckpointLine) : undefined
  } catch {
    return undefined
  }
}

const textOf = (lines: Iterable<CheckpointLine>): string => [...lines].map((one) => `${JSON.stringify(one)}\n`).join("")

const append = (path: string, checkpoints: ReadonlyArray<CheckpointLine>): void => {
  makeDirectories(dirname(path))
  appendFileSync(path, textOf(checkpoints), { mode: 0o600 })
}

const linesOf = ({ branches, latest }: Content): ReadonlyArray<CheckpointLine> => [
  ...[...branches.values()].flat(),
  ...latest.values()
]

const shorten = (path: string, content: Content): void => {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= largestBytes) return
  writeFileSync(`${path}.new`, textOf(linesOf(content)), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** Whether a checkpoint is of the branch that was closed: from before, and of entries that are gone. */
const isOf = ({ at, seq }: Checkpoint, { at: closedAt, resumed }: ClosedBranch): boolean =>
  at < closedAt && seq > (resumed?.seq ?? 0)

const isNewer = ({ latest }: Content, { organisationId, seq }: Head): boolean =>
  seq > (latest.get(organisationId)?.seq ?? 0)

const saysMore = (content: Content, line: CheckpointLine): boolean => {
  const closed = content.branches.get(line.organisationId) ?? []
  return isBranch(line)
    ? closed.every(({ signature }) => signature !== line.signature)
    : isNewer(content, line) && !closed.some((branch) => isOf(line, branch))
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
  const writeLines = (lines: ReadonlyArray<CheckpointLine>) =>
    Effect.try({
      try: () => {
        append(path, lines)
        for (const line of lines) take(content, line)
      },
      catch: (cause) => new CheckpointNotWritten(path, cause)
    })
  return {
    latest: (organisation) => latest.get(organisation) ?? null,
    all: () => [...latest.values()],
    lines: () => linesOf(content),
    closedBranches: (organisation) => branches.get(organisation) ?? [],
    close: ({ hash, organisationId, seq }, resumed) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const at = new Date(now).toISOString()
        const branch: ClosedBranch = signed({ organisationId, at, closed: { seq, hash }, resumed })
        const lines = [branch, ...(resumed === null ? [] : [signed({ organisationId, ...resumed, at })])]
        return Effect.as(writeLines(lines), branch)
      }),
    extended: (head) => {
      if (isNewer(content, head)) changed.set(head.organisationId, head)
    },
    write: ({ all }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        // Another node has extended the chain further.
        for (const head of changed.values()) if (!isNewer(content, head)) changed.delete(head.organisationId)
        const due = [...changed.values()].filter(({ organisationId }) => {
          const last = latest.get(organisationId)
          return all || last === undefined || now - Date.parse(last.at) >= auditSeal.checkpointMillis
        })
        const at = new Date(now).toISOString()
        const heads = due.map((head): Checkpoint => signed({ ...head, at }))
        if (heads.length === 0) return Effect.succeed(heads)
        return Effect.map(writeLines(heads), () => {
          for (const { organisationId } of heads) changed.delete(organisationId)
          return heads
        })
      }),
    newsIn: (lines) =>
      lines.flatMap((text) => {
        const line = parseLine(text)
        return line !== undefined && saysMore(content, line) && isGenuine(line, sign) ? [line] : []
      }),
    adopt: (lines) =>
      lines.length === 0
        ? Effect.void
        : writeLines(
            lines.flatMap((line) => {
              // A line that closes a branch takes the checkpoint before it away.
              const kept = isBranch(line) ? latest.get(line.organisationId) : undefined
              return kept === undefined || !isBranch(line) || isOf(kept, line) ? [line] : [line, kept]
            })
          )
  }
}
