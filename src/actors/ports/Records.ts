/**
 * Management records: customers, keys, workflows, secrets … The records of a change, its audit entry and, if the request
 * has an Idempotency-Key, the stored reply commit in one transaction. All access uses the request role, so that row-level
 * security shows only the organisation's own rows.
 */
import { type Effect, type Option, Context, Data } from "effect"
import type { AuditEntry } from "../../domain/audit/Audit.js"
import type { Unavailable } from "../../domain/Failure.js"
import type {
  CustomerId,
  ExecutionId,
  OrganisationId,
  SpaceId,
  UserId,
  WebhookEndpointId,
  WidgetId
} from "../../domain/Ids.js"
import type { QueuedDeliveries, StoredDelivery } from "../../domain/delivery/WebhookEndpoint.js"
import type { RecordTypes } from "./RecordTypes.js"
import type { Deploying } from "./Deploying.js"
import type { ActionHistory } from "./connection/ActionHistory.js"
import type { DomainEvent } from "./connection/ConnectionStore.js"

/** Conditions on members. A list means any of its values; `null`, also in a list, means absent. */
export type Where<R> = { readonly [K in keyof R]?: R[K] | ReadonlyArray<R[K]> }

/**
 * A condition on a member that has several values and the values `among`. `part`: the items of a list, or the keys or
 * values of an object.
 */
export interface MemberFilter<R> {
  readonly member: keyof R & string
  readonly part: "items" | "keys" | "values"
  readonly among: ReadonlyArray<string>
}

/** Which records are listed, the newest first. All conditions must hold. */
export interface ListQuery<R> {
  readonly where?: Where<R>
  /** All values of the member must be among these. */
  readonly only?: ReadonlyArray<MemberFilter<R>>
  /** At least one item of the list must be among these. */
  readonly some?: ReadonlyArray<MemberFilter<R> & { readonly part: "items" }>
  /** Text to find in any of these members, in any case. */
  readonly search?: { readonly text: string; readonly in: ReadonlyArray<keyof R & string> }
  /** Bounds on the time of creation, RFC 3339. */
  readonly createdAfter?: string
  readonly createdBefore?: string
  /** Only rows after this one, in the order newest first. */
  readonly after?: { readonly createdAt: string; readonly id: string }
  readonly limit: number
}

/** The record's unique members are taken. `index` names which. */
export class AlreadyExists extends Data.TaggedError("AlreadyExists")<{ readonly index: string }> {}
/** Another transaction changed the record since it was read. */
export class Changed extends Data.TaggedError("Changed")<{}> {}

/** The stored records of one noun. Reads see what their transaction wrote. */
export interface Repository<R> {
  readonly find: (where: Where<R>) => Effect.Effect<Option.Option<R>, Unavailable>
  /** Like `find`, with a row lock until the transaction ends. Records that refer to it can be inserted meanwhile. */
  readonly lock: (where: Where<R>) => Effect.Effect<Option.Option<R>, Unavailable>
  readonly list: (query: ListQuery<R>) => Effect.Effect<ReadonlyArray<R>, Unavailable>
  readonly count: (where: Where<R>) => Effect.Effect<number, Unavailable>
  /** Counts the records by value of the member; values without records are absent. */
  readonly countBy: (
    member: keyof R & string,
    where: Where<R>
  ) => Effect.Effect<ReadonlyMap<string | number | null, number>, Unavailable>
  readonly insert: (record: R) => Effect.Effect<void, AlreadyExists | Unavailable>
  /** Writes the members of `record`; the stored version must be `record.version - 1` where records have one. */
  readonly update: (record: R) => Effect.Effect<void, AlreadyExists | Changed | Unavailable>
  readonly remove: (where: Where<R>) => Effect.Effect<number, Unavailable>
}

/** Which notifications to mark as read; absent members do not restrict. `at`, `before`: RFC 3339. */
export interface ReadSelection {
  /** The person who has read them; absent: in the state that keys share. */
  readonly readerId?: UserId
  readonly ids?: ReadonlyArray<string>
  /** The workspace: its notifications, and those of none. */
  readonly spaceId: SpaceId
  readonly customerIds?: ReadonlyArray<CustomerId>
  readonly before?: string
  readonly at: string
}

/** Finished deliveries of an endpoint that are to be sent again. Times are RFC 3339. */
export interface ResendSelection {
  readonly endpointId: WebhookEndpointId
  readonly statuses: ReadonlyArray<StoredDelivery["status"]>
  readonly from?: string
  readonly to?: string
  readonly limit: number
  readonly perSecond: number
}

/**
 * What a plan limits for all organisations of an account together. `messages`: of notifications that left, or will leave, the
 * application since the full hour.
 */
export type AccountStock =
  | "active_integrations"
  | "triggers"
  | "organisation_api_keys"
  | "messages"
  | "flows_per_tenant"
  | "connectors_per_tenant"

/** The repository of each noun. */
export type Repositories = { readonly [Name in keyof RecordTypes]: Repository<RecordTypes[Name]> }

/** A person's save of a draft. `at`: RFC 3339. */
export interface DraftSave {
  readonly workflowId: string
  readonly actorId: string
  readonly at: string
  readonly members: ReadonlyArray<string>
}

/** The repositories and functions of one transaction. */
export interface Tx extends Repositories, Deploying, ActionHistory {
  /** Marks notifications as read, and returns how many it changed. Those in a queue for other channels stay as they are. */
  readonly markNotificationsRead: (selection: ReadSelection) => Effect.Effect<number, Unavailable>
  /** Ends all sessions of a widget. `at`: RFC 3339. */
  readonly endWidgetSessions: (widget: WidgetId, at: string) => Effect.Effect<void, Unavailable>
  /** Remembers who was told the link of a person's invitation, also when the person is removed. */
  readonly noteInviter: (userId: UserId, by: string) => Effect.Effect<void, Unavailable>
  /** Whether an invitation may be sent to the address now, which counts it: once an hour, some an hour in the organisation. */
  readonly takeInviteMail: (address: string) => Effect.Effect<boolean, Unavailable>
  /** Those of the addresses that may be written to: confirmed, or of before confirmations, for a time. */
  readonly usableAddresses: (addresses: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, Unavailable>
  /**
   * How much of what its plan limits the organisation's account has, over all its organisations. Of what each organisation or
   * customer may have as much: the most that one has.
   */
  readonly countOfAccount: (stock: AccountStock) => Effect.Effect<number, Unavailable>
  /** The people of each of the teams, by its name: the first `most` of each. A team without people is absent. */
  readonly teamMembers: (
    names: ReadonlyArray<string>,
    most: number
  ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<UserId>>, Unavailable>
  /** Replaces the people of a team. `now`: RFC 3339. */
  readonly setTeamMembers: (name: string, ids: ReadonlyArray<UserId>, now: string) => Effect.Effect<void, Unavailable>
  /**
   * Has the read caches of all nodes drop what they have of these organisations too, once the transaction has committed;
   * of its own organisation they do in any case.
   */
  readonly noteChangeOf: (organisations: ReadonlyArray<OrganisationId>) => Effect.Effect<void>
  /** Lets a run that waits go on; `false` if it has ended. Locks it, so that it cannot end before the transaction does. */
  readonly wakeRun: (id: ExecutionId) => Effect.Effect<boolean, Unavailable>
  /** Makes finished deliveries due again, the oldest first, each a fixed time after the one before. */
  readonly resendDeliveries: (selection: ResendSelection) => Effect.Effect<QueuedDeliveries, Unavailable>
  /**
   * Whether a save of a draft is to have an entry in the audit trail: not if one of the last minute, of the same person and
   * draft, tells of the same members. Takes note of one that is.
   */
  readonly isSaveDue: (save: DraftSave) => Effect.Effect<boolean, Unavailable>
  /** Adds an entry to the audit trail; it commits with the transaction. */
  readonly audit: (entry: AuditEntry) => Effect.Effect<void, Unavailable>
  /** Adds an event for subscribers; it commits with the transaction. */
  readonly emit: (event: DomainEvent) => Effect.Effect<void, Unavailable>
  /** Stores the reply to a request with an Idempotency-Key, sealed by the vault. */
  readonly saveReply: (reply: StoredReply) => Effect.Effect<void, AlreadyExists | Unavailable>
  readonly findReply: (key: string) => Effect.Effect<Option.Option<StoredReply>, Unavailable>
  /** Replaces the reply that is stored under the same key. */
  readonly replaceReply: (reply: StoredReply) => Effect.Effect<void, Unavailable>
  readonly deleteReply: (key: string) => Effect.Effect<void, Unavailable>
  /** Runs the body, in this transaction, on the records of another organisation. */
  readonly within: <A, E>(organisation: OrganisationId, body: Effect.Effect<A, E>) => Effect.Effect<A, E | Unavailable>
  /** Takes a lock on the key, within the organisation, until the transaction ends. */
  readonly lockKey: (key: string) => Effect.Effect<void, Unavailable>
  /** The same, within the organisation's account. */
  readonly lockKeyOfAccount: (key: string) => Effect.Effect<void, Unavailable>
  /** As `lockKey`, without waiting: `false` when another transaction has the lock. */
  readonly tryLockKey: (key: string) => Effect.Effect<boolean, Unavailable>
}

/** The answer to a request with an Idempotency-Key, sealed. */
export interface StoredReply {
  readonly key: string
  readonly hash: string
  /** Empty while the request is in progress. */
  readonly sealed: Uint8Array
  /** RFC 3339. */
  readonly expiresAt: string
}

export class Records extends Context.Tag("svc/Records")<
  Records,
  {
    /** Runs the body in one transaction, which rolls back if it fails. Nested transactions join it. */
    readonly transact: <A, E>(
      organisation: OrganisationId,
      body: (tx: Tx) => Effect.Effect<A, E>
    ) => Effect.Effect<A, E | Unavailable>
  }
>() {}
