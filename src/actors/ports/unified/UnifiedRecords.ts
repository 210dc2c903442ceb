/**
 * Reads and writes records of common models through a customer's connection, whichever provider it has. The REST surface
 * and workflows ask the same. Contract: unified API; runtime calls.
 */
import { type Effect, Context, Data } from "effect"
import type { ScopeType } from "../../../domain/access/ResourceScope.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { EntityDefinition } from "../../../domain/connector/Entity.js"
import type { EntityMap } from "../../../domain/connector/EntityMaps.js"
import type { Failure } from "../../../domain/Failure.js"
import type { ExecutionId, InstallationId, OrganisationId, SpaceId, WorkflowId } from "../../../domain/Ids.js"
import type { JsonObject } from "../../../domain/Json.js"
import type { MapMoment } from "../../../domain/mapping/MapPublication.js"
import type { MapOverride } from "../../../domain/mapping/EffectiveMap.js"
import type { Model } from "../../../domain/model/FieldType.js"
import type { AnswerHolding } from "../HeldBytes.js"
import type { ConnectionUser } from "../connection/ConnectionChoice.js"
import type { Attempt, CallFailed, CallRetry } from "../connection/ConnectedCalls.js"

/** The action that a record's operation called. */
export interface CalledAction {
  readonly connector: string
  readonly action: string
}

/** On whose behalf records are read and written. */
export interface RecordUser extends ConnectionUser {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  /** For the values of the configuration that apply. */
  readonly workflowId: WorkflowId | null
  readonly installationId: InstallationId | null
  readonly environment: string
  /** The refusal of a resource that the caller does not reach. */
  readonly refuses: (type: Extract<ScopeType, "connection" | "connector">, id: string) => Failure | undefined
  readonly executionId: ExecutionId | null
  /** The maps to use; absent: those that are in force. */
  readonly maps?: MapMoment | undefined
  /** The longest wait for a provider's rate limit, in milliseconds. */
  readonly patienceMillis: number
  /** Instead of the connector's rule. A creation that may have taken effect is not retried unless its provider recognises it. */
  readonly retry?: CallRetry
  /** The longest time of one attempt, instead of the action's. */
  readonly timeoutMillis?: number | undefined
  readonly onAttempt?: (attempt: Attempt, at: CalledAction) => void
}

/** The entity that is asked for, and where. */
export interface RecordTarget {
  readonly model: Model
  /** A label, an alias or an id; null: the customer's. */
  readonly connection: string | null
  /** The connector's slug; null: any that serves the model. */
  readonly provider: string | null
}

/** How records are answered. */
export interface RecordForm {
  /** The members that are wanted; null: all. */
  readonly fields: ReadonlyArray<string> | null
  /** Whether the provider's own record comes along. */
  readonly isRawIncluded: boolean
  /** Whether a value that cannot be read is a failure instead of a warning. */
  readonly isStrict: boolean
}

/** A value that could not be read. */
export interface RecordWarning {
  /** The record's id; null if that could not be read. */
  readonly record: string | null
  readonly path: string
  readonly code: string
  readonly message: string
}

/** Who answered, and how. */
export interface RecordMeta {
  readonly provider: string
  readonly connectionId: string
  readonly fetchedAt: string
  readonly warnings: ReadonlyArray<RecordWarning>
}

/** A list's query. Times are RFC 3339. */
export interface RecordQuery extends RecordForm {
  readonly pageSize: number
  readonly cursor: string | null
  readonly modifiedAfter: string | null
  readonly createdAfter: string | null
}

/** A page of records. `filteredBy`: who applied a filter, by its parameter. */
export interface RecordPage {
  readonly records: ReadonlyArray<JsonObject>
  readonly nextCursor: string | null
  readonly meta: RecordMeta & { readonly filteredBy: { readonly [filter: string]: "provider" | "service" } }
}

/** One record. `version`: a fingerprint of it as it was read. */
export interface FoundRecord {
  readonly record: JsonObject
  readonly meta: RecordMeta & { readonly version: string }
}

/** What a write needs besides the record. */
export interface WriteOptions {
  /** The same for every attempt; null: the caller gives none. */
  readonly idempotencyKey: string | null
  /** The fingerprint that the record must have; null: any. */
  readonly expectedVersion: string | null
  /** Whether a creation is sent again although an earlier answer was lost. */
  readonly isRepeated: boolean
}

/** A record of one entity to test a map on. `recordId` null: the first of the list. */
export interface SampleQuery {
  readonly entity: string
  readonly recordId: string | null
  /** Is laid over the map instead of the published override of its level. */
  readonly override: MapOverride
}

/** A provider's record, and the map that it is tested with. */
export interface RecordSample {
  readonly connectionId: string
  readonly definition: ConnectorDefinition
  readonly entity: EntityDefinition
  readonly map: EntityMap
  readonly overrides: ReadonlyArray<MapOverride>
  /** How the account writes numbers and dates. */
  readonly locale: string
  readonly record: JsonObject
}

/** A call of the provider failed. */
export class RecordCallFailed extends Data.TaggedError("RecordCallFailed")<{
  readonly connector: string
  readonly action: string
  readonly failed: CallFailed
}> {}

/** The caller holds the answers of providers that a call reads. */
export class UnifiedRecords extends Context.Tag("svc/UnifiedRecords")<
  UnifiedRecords,
  {
    readonly list: (
      user: RecordUser,
      target: RecordTarget,
      query: RecordQuery
    ) => Effect.Effect<RecordPage, Failure | RecordCallFailed, AnswerHolding>
    readonly get: (
      user: RecordUser,
      target: RecordTarget,
      id: string,
      form: RecordForm
    ) => Effect.Effect<FoundRecord, Failure | RecordCallFailed, AnswerHolding>
    /** `remoteFields`: members of the provider's record, which no map changes. */
    readonly create: (
      user: RecordUser,
      target: RecordTarget,
      record: JsonObject,
      remoteFields: JsonObject,
      options: WriteOptions
    ) => Effect.Effect<FoundRecord, Failure | RecordCallFailed, AnswerHolding>
    readonly update: (
      user: RecordUser,
      target: RecordTarget,
      id: string,
      changes: JsonObject,
      remoteFields: JsonObject,
      options: WriteOptions
    ) => Effect.Effect<FoundRecord, Failure | RecordCallFailed, AnswerHolding>
    readonly remove: (
      user: RecordUser,
      target: RecordTarget,
      id: string,
      options: WriteOptions
    ) => Effect.Effect<RecordMeta, Failure | RecordCallFailed, AnswerHolding>
    /** Reads a record as the provider sends it, with the fields that an override reads, too. */
    readonly sample: (
      user: RecordUser,
      target: RecordTarget,
      query: SampleQuery
    ) => Effect.Effect<RecordSample, Failure | RecordCallFailed, AnswerHolding>
  }
>() {}
