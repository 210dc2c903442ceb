/** Entries that no change carries with it: failures, and reads and refusals, which are counted by the minute. */
import type { Effect } from "effect"
import { Context } from "effect"
import type { AuditEntry } from "../../domain/Audit.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"

export interface AuditQuery {
  readonly customerId?: string
  readonly actorType?: string
  readonly actorId?: string
  readonly action?: string
  readonly resourceType?: string
  readonly resourceId?: string
  /** Only entries of these customers, and those without a customer whose actor is `actorId`, where there is one. */
  readonly reach?: { readonly customers: ReadonlyArray<string>; readonly actorId: string | null }
  /** RFC 3339. */
  readonly from?: string
  readonly to?: string
  /** Only entries before this one: newest first. */
  readonly before?: string
  readonly limit: number
}

/** An entry with its place in the chain; all three are `null` until it is sealed, within a second. */
export interface SealedEntry extends AuditEntry {
  readonly seq: number | null
  readonly prevHash: string | null
  readonly hash: string | null
}

export interface Checkpoint {
  readonly organisationId: OrganisationId
  readonly seq: number
  readonly hash: string
  readonly at: string
  /** An HMAC of the others under the server's pepper. */
  readonly signature: string
}

export interface AuditVerification {
  /** The chain is whole, and no entry has waited for its seal longer than ten seconds. */
  readonly ok: boolean
  readonly checked: number
  readonly firstBadSeq: number | null
  readonly checkpoint: Checkpoint | null
  /** Entries that are not sealed yet. */
  readonly unsealed: number
  readonly oldestUnsealed: { readonly id: string; readonly at: string } | null
}

/** Entries of all organisations that wait for their seal: how many, and the age of the oldest in seconds. */
export interface Backlog {
  readonly unsealed: number
  readonly oldestSeconds: number
}

export class AuditTrail extends Context.Tag("svc/AuditTrail")<
  AuditTrail,
  {
    /** Written soon, in batches; at the latest when the service stops. */
    readonly note: (entry: AuditEntry) => void
    /** Counts a read of this actor, action and resource; one entry is written when the minute is over. */
    readonly read: (entry: AuditEntry) => void
    /** Counts a refusal of this actor, address, action and reason; one entry is written when the minute is over. */
    readonly refusal: (entry: AuditEntry) => void
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
