/**
 * Management records: customers, keys, workflows, secrets … A change is a pure decision and one transaction in which
 * the records, the audit entry and, where the client sent a key for it, the remembered answer commit together.
 * Everything is read and written as the request role: only the organisation's own rows exist here.
 */
import type { Effect, Option } from "effect"
import { Context, Data } from "effect"
import type { ApiKey } from "../../domain/ApiKey.js"
import type { AuditEntry } from "../../domain/Audit.js"
import type { StoredValue } from "../../domain/Configuration.js"
import type { AuthProvider, ConnectorRecord, ConnectorVersion } from "../../domain/connector/ConnectorRecord.js"
import type { Connection, CredentialRecord } from "../../domain/connection/Connection.js"
import type { Customer } from "../../domain/Customer.js"
import type { Environment } from "../../domain/Environment.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { Installation } from "../../domain/Installation.js"
import type { Organisation, Workspace } from "../../domain/Organisation.js"
import type { Role, User } from "../../domain/Person.js"
import type { Secret, SecretVersion } from "../../domain/Secret.js"
import type { Deployment, Workflow, WorkflowVersion } from "../../domain/Workflow.js"
import type { DomainEvent } from "./ConnectionStore.js"

/** A condition on one member; a list means any of them, `null`, also in a list, means absent. */
export type Where<R> = { readonly [K in keyof R]?: R[K] | ReadonlyArray<R[K]> }

/**
 * A condition on a member that holds several values: all of them are among `among`. `items` of a list; `keys` or
 * `values` of an object.
 */
export interface Only<R> {
  readonly member: keyof R & string
  readonly part: "items" | "keys" | "values"
  readonly among: ReadonlyArray<string>
}

export interface ListQuery<R> {
  readonly where?: Where<R>
  readonly only?: ReadonlyArray<Only<R>>
  /** Text to find in any of these members, in any case. */
  readonly search?: { readonly text: string; readonly in: ReadonlyArray<keyof R & string> }
  /** Bounds on the time of creation, RFC 3339. */
  readonly createdAfter?: string
  readonly createdBefore?: string
  /** Only rows after this one: newest first, by time of creation and id. */
  readonly after?: { readonly createdAt: string; readonly id: string }
  readonly limit: number
}

/** The record's unique members are taken. `index` names which. */
export class AlreadyExists extends Data.TaggedError("AlreadyExists")<{ readonly index: string }> {}
/** Somebody changed the record since it was read. */
export class Changed extends Data.TaggedError("Changed")<{}> {}

export interface Repository<R> {
  readonly find: (where: Where<R>) => Effect.Effect<Option.Option<R>, Unavailable>
  /** Like `find`, and nobody else changes the record until the transaction ends. */
  readonly lock: (where: Where<R>) => Effect.Effect<Option.Option<R>, Unavailable>
  readonly list: (query: ListQuery<R>) => Effect.Effect<ReadonlyArray<R>, Unavailable>
  readonly count: (where: Where<R>) => Effect.Effect<number, Unavailable>
  /** How many there are for each value of the member, where there are any. */
  readonly countBy: (
    member: keyof R & string,
    where: Where<R>
  ) => Effect.Effect<ReadonlyMap<string, number>, Unavailable>
  readonly insert: (record: R) => Effect.Effect<void, AlreadyExists | Unavailable>
  /** Writes the members of `record`; the stored version must be `record.version - 1` where records have one. */
  readonly update: (record: R) => Effect.Effect<void, AlreadyExists | Changed | Unavailable>
  readonly remove: (where: Where<R>) => Effect.Effect<number, Unavailable>
}

/** What a transaction can reach. */
export interface Tx {
  readonly organisations: Repository<Organisation>
  readonly workspaces: Repository<Workspace>
  readonly customers: Repository<Customer>
  readonly environments: Repository<Environment>
  readonly apiKeys: Repository<ApiKey>
  readonly roles: Repository<Role>
  readonly users: Repository<User>
  readonly secrets: Repository<Secret>
  readonly secretVersions: Repository<SecretVersion>
  readonly workflows: Repository<Workflow>
  readonly workflowVersions: Repository<WorkflowVersion>
  readonly deployments: Repository<Deployment>
  readonly configuration: Repository<StoredValue>
  readonly connectors: Repository<ConnectorRecord>
  readonly connectorVersions: Repository<ConnectorVersion>
  readonly authProviders: Repository<AuthProvider>
  readonly installations: Repository<Installation>
  /** Only read here: their actors write them. */
  readonly connections: Repository<Connection>
  readonly credentials: Repository<CredentialRecord>
  /** Adds an entry to the audit trail; it commits with the transaction. */
  readonly audit: (entry: AuditEntry) => Effect.Effect<void, Unavailable>
  /** Tells the world of something; it commits with the transaction. */
  readonly tell: (event: DomainEvent) => Effect.Effect<void, Unavailable>
  /** Remembers the answer to a request with an Idempotency-Key; `sealed` opens only with the vault. */
  readonly remember: (reply: RememberedReply) => Effect.Effect<void, AlreadyExists | Unavailable>
  readonly remembered: (key: string) => Effect.Effect<Option.Option<RememberedReply>, Unavailable>
  /** Puts the reply in the place of the one that is remembered under its key. */
  readonly replaceRemembered: (reply: RememberedReply) => Effect.Effect<void, Unavailable>
  readonly forgetRemembered: (key: string) => Effect.Effect<void, Unavailable>
  /** Waits until no other transaction of the organisation holds the key, and holds it until this one ends. */
  readonly hold: (key: string) => Effect.Effect<void, Unavailable>
  /** Waits for no one: `false` when another transaction holds the key right now. */
  readonly tryHold: (key: string) => Effect.Effect<boolean, Unavailable>
}

export interface RememberedReply {
  readonly key: string
  readonly hash: string
  /** Empty while the request is under way. */
  readonly sealed: Uint8Array
  /** RFC 3339. */
  readonly expiresAt: string
}

export class Records extends Context.Tag("svc/Records")<
  Records,
  {
    /** One transaction; nothing of it is seen when it fails. Transactions inside it join it. */
    readonly transact: <A, E>(
      organisation: OrganisationId,
      body: (tx: Tx) => Effect.Effect<A, E>
    ) => Effect.Effect<A, E | Unavailable>
  }
>() {}
