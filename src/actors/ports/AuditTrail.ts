/** The audit trail: entries that commit with no change (failures; reads and refusals, counted by the minute), and queries. */
import { type Effect, Context } from "effect"
import type { AuditEntry, SealedEntry } from "../../domain/audit/Audit.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"

/** Which entries of an organisation are listed. All conditions must hold. */
export interface AuditQuery {
  readonly customerId?: string
  readonly actorType?: string
  readonly actorId?: string
  readonly action?: string
  readonly resourceType?: string
  readonly resourceId?: string
  /** Only entries of these customers, and those without a customer by the actor `actorId`. */
  readonly reach?: { readonly customers: ReadonlyArray<string>; readonly actorId: string | null }
  /** RFC 3339. */
  readonly from?: string
  readonly to?: string
  /** Only entries before this one: newest first. */
  readonly before?: string
  readonly limit: number
}

/**
 * Where a chain was at a time, kept outside the database: a database that was put back to an earlier state contradicts
 * it.
 */
export interface Checkpoint {
  readonly organisationId: OrganisationId
  readonly seq: number
  readonly hash: string
  readonly at: string
  /** An HMAC of the others under the server's pepper. */
  readonly signature: string
}

/** The end of a chain. */
export interface ChainEnd {
  readonly seq: number
  readonly hash: string
}

/**
 * Older data took the place of newer, as after a restore: the entries from `closed` back to behind `resumed` are gone,
 * and the chain goes on from `resumed`; `null`: from its beginning.
 */
export interface ClosedBranch {
  readonly organisationId: OrganisationId
  /** When svc started on the older data. */
  readonly at: string
  readonly closed: ChainEnd
  readonly resumed: ChainEnd | null
  /** An HMAC of the others under the server's pepper. */
  readonly signature: string
}

/** What a walk over the chain of an organisation found. */
export interface AuditVerification {
  /** The chain is intact, and no entry has been unsealed for more than ten seconds. */
  readonly ok: boolean
  readonly checked: number
  readonly firstBadSeq: number | null
  readonly checkpoint: Checkpoint | null
  /** Entries that are not sealed yet. */
  readonly unsealed: number
  readonly oldestUnsealed: { readonly id: string; readonly at: string } | null
  /** Branches that ended when older data was put in place. They do not make the chain invalid. */
  readonly closedBranches: ReadonlyArray<ClosedBranch>
}

/** The number of unsealed entries of all organisations, and the age of the oldest in seconds. */
export interface Backlog {
  readonly unsealed: number
  readonly oldestSeconds: number
}

export class AuditTrail extends Context.Tag("svc/AuditTrail")<
  AuditTrail,
  {
    /** Appends an entry. Written in batches, at the latest when the service stops. */
    readonly append: (entry: AuditEntry) => void
    /** Counts a read by actor, action and resource; one entry is written per minute. */
    readonly countRead: (entry: AuditEntry) => void
    /** Counts a refusal by actor, address, action and reason; one entry is written per minute. */
    readonly countRefusal: (entry: AuditEntry) => void
    readonly list: (
      organisation: OrganisationId,
      query: AuditQuery
    ) => Effect.Effect<ReadonlyArray<SealedEntry>, Unavailable>
    /** Recomputes the chain between two times (RFC 3339). */
    readonly verify: (
      organisation: OrganisationId,
      from: string | undefined,
      to: string | undefined
    ) => Effect.Effect<AuditVerification, Unavailable>
    readonly backlog: Effect.Effect<Backlog, Unavailable>
  }
>() {}
