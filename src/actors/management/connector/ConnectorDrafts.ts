/** Writes the drafts and the published versions of connectors, in the transaction of a use case. Versions are immutable. */
import { Duration, Effect, Option } from "effect"
import { nextVersion } from "../../../domain/Record.js"
import {
  type ConnectorRecord,
  type ConnectorVersion,
  definitionText,
  draftRefusal,
  type InlineClient,
  inlineProviderName,
  readStoredDefinition,
  connectorSummary,
  extractClients
} from "../../../domain/connector/ConnectorRecord.js"
import { type ConnectorDefinition, definitionForm } from "../../../domain/connector/Definition.js"
import type { ImportWarning } from "../../../domain/connector/import/OpenApiDocument.js"
import { assignActionVersions, raiseVersion } from "../../../domain/connector/Versions.js"
import { changedClients } from "../../../domain/connector/part/ChangedClients.js"
import { type Failure, InvalidState, refuseWith } from "../../../domain/Failure.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { AlreadyExists, Changed, Tx } from "../../ports/Records.js"
import { make as makeAuthProviderRecords } from "../connection/AuthProviderRecords.js"
import type { Principal } from "../Caller.js"
import type { ChangeOutcome } from "../Changes.js"
import { ConnectorRecords, type ConnectorView, definitionOf, jsonOf, type OwnConnector } from "./ConnectorRecords.js"
import { currentTimestamp } from "../Timestamp.js"
import { noteConnector } from "../unified/MapRevisions.js"

/** The answer to a change of a connector. */
export interface SavedConnector {
  readonly view: ConnectorView
  /** Counts the changes of the record, whose `version` is the definition's. */
  readonly revision: number
  /** For an import: the parts that it left out. */
  readonly warnings?: ReadonlyArray<ImportWarning>
}

/** A published definition, and the one that was published before it; `undefined`: none, or the same. */
export interface PublishedConnector extends SavedConnector {
  readonly definition: ConnectorDefinition
  readonly previous: ConnectorDefinition | undefined
}

/** How a draft is saved that differs from the current definition in some parts only. */
export interface PartialSave {
  /** The current definition: clients that it has already are not stored again. */
  readonly current: ConnectorDefinition
  /** Raises the version to the one that the change needs, since the request names none. */
  readonly isRaised: boolean
}

/** What a publication is made with. `version`: replaces that of the draft. */
export interface PublishOptions {
  readonly notes?: string | undefined
  readonly version?: string | undefined
}

type Written<A> = Effect.Effect<A, Failure | AlreadyExists | Changed>
type SavedOutcome = ChangeOutcome<SavedConnector>

/** Yields to the event loop between two passes over a definition, which may have megabytes. */
const yieldToOthers = Effect.sleep(Duration.zero)

export const trailOf = ({ latestVersion, name, semver }: ConnectorRecord) => ({ name, draft: semver, latestVersion })

export const ownConnector = (record: ConnectorRecord): OwnConnector => ({ _tag: "Own", record })

/** The record's members that derive from its definition. */
const membersOf = (definition: ConnectorDefinition) => ({
  name: definition.name,
  description: definition.description,
  kind: definition.kind,
  semver: definition.version,
  summary: connectorSummary(definition)
})

/** The newest published definition, if there is one. */
const findPublished = Effect.fnUntraced(function* (tx: Tx, { id, latestVersion }: ConnectorRecord) {
  if (latestVersion === null) return undefined
  const row = yield* tx.connectorVersions.find({ connectorId: id, semver: latestVersion })
  return Option.isNone(row) ? undefined : yield* readStoredDefinition(row.value)
})

export const make = Effect.gen(function* () {
  const { sha256Hex } = yield* Digests
  const identifiers = yield* Identifiers
  const providers = yield* makeAuthProviderRecords
  const records = yield* ConnectorRecords

  const versionOf = (record: ConnectorRecord, definition: ConnectorDefinition): ConnectorVersion => ({
    organisationId: record.organisationId,
    connectorId: record.id,
    number: record.current,
    semver: definition.version,
    definition: jsonOf(definition),
    form: definitionForm,
    actions: Object.fromEntries(definition.actions.map(({ name, version }) => [name, version])),
    contentHash: sha256Hex(definitionText(definition)),
    notes: null,
    publishedAt: null,
    publishedBy: null
  })

  const draftOf = (record: ConnectorRecord, definition: ConnectorDefinition): Effect.Effect<ConnectorVersion> =>
    Effect.zipLeft(
      Effect.map(yieldToOthers, () => versionOf(record, definition)),
      yieldToOthers
    )

  const savedOf = (record: ConnectorRecord, definition: ConnectorDefinition): SavedConnector => ({
    view: records.view(record.organisationId, ownConnector(record), definition),
    revision: record.version
  })

  const outcomeOf = (
    before: ConnectorRecord,
    record: ConnectorRecord,
    definition: ConnectorDefinition
  ): SavedOutcome => ({
    value: savedOf(record, definition),
    resource: record,
    before: trailOf(before),
    after: trailOf(record)
  })

  /** Stores the OAuth clients in a definition as the defaults of their methods. */
  const storeClients = (tx: Tx, caller: Principal, slug: string, clients: ReadonlyArray<InlineClient>): Written<void> =>
    Effect.forEach(
      clients,
      ({ clientId, clientSecret, methodId }) => {
        const secret = clientSecret === undefined ? {} : { clientSecret }
        const input = { name: inlineProviderName, methodId, clientId, ...secret }
        return Effect.flatMap(providers.lock(tx, slug, input), (found) =>
          providers.write(tx, caller, slug, input, found)
        )
      },
      { discard: true }
    )

  /** Creates a connector with its first draft. */
  const insert = Effect.fnUntraced(function* (tx: Tx, caller: Principal, document: ConnectorDefinition) {
    const { clients, definition } = extractClients(document)
    const now = yield* currentTimestamp
    const record: ConnectorRecord = {
      id: identifiers.next("ctr"),
      organisationId: caller.organisationId,
      slug: definition.slug,
      ...membersOf(definition),
      current: 1,
      latestVersion: null,
      createdBy: caller.id,
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
      version: 1
    }
    yield* tx.connectors.insert(record)
    yield* tx.connectorVersions.insert(yield* draftOf(record, definition))
    yield* storeClients(tx, caller, record.slug, clients)
    return { value: savedOf(record, definition), resource: record, after: trailOf(record) }
  })

  /** Whether the definition equals the current published version, so that saving it changes nothing. */
  const isPublished = (current: ConnectorVersion, definition: ConnectorDefinition): boolean =>
    current.publishedAt !== null &&
    current.semver === definition.version &&
    current.contentHash === sha256Hex(definitionText(definition))

  /**
   * Changes the draft, or creates one if there is none. Published versions stay unchanged. The draft's actions have the
   * versions that they get when it is published.
   */
  const save = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    before: ConnectorRecord,
    document: ConnectorDefinition,
    partial?: PartialSave
  ): Effect.fn.Return<SavedOutcome, Failure | AlreadyExists | Changed> {
    const { clients, definition: written } = extractClients(document)
    const number = { connectorId: before.id, number: before.current }
    const current = Option.getOrUndefined(yield* tx.connectorVersions.find(number))
    const published = yield* findPublished(tx, before)
    const stored = partial === undefined ? clients : changedClients(partial.current, clients)
    yield* storeClients(tx, caller, before.slug, stored)
    if (current !== undefined && published !== undefined && isPublished(current, written))
      return outcomeOf(before, before, published)
    yield* yieldToOthers
    const assigned = assignActionVersions(published, written)
    const definition =
      partial?.isRaised === true && published !== undefined ? raiseVersion(published, assigned) : assigned
    yield* refuseWith(draftRefusal(before, published, definition))
    const isDraft = current?.publishedAt === null
    const record: ConnectorRecord = {
      ...before,
      ...membersOf(definition),
      current: isDraft ? before.current : before.current + 1,
      ...nextVersion(before, yield* currentTimestamp)
    }
    const row = yield* draftOf(record, definition)
    yield* isDraft ? tx.connectorVersions.update(row) : tx.connectorVersions.insert(row)
    yield* tx.connectors.update(record)
    return outcomeOf(before, record, definition)
  })

  const publishedOf = (
    outcome: SavedOutcome,
    definition: ConnectorDefinition,
    previous: ConnectorDefinition | undefined
  ): ChangeOutcome<PublishedConnector> => ({ ...outcome, value: { ...outcome.value, definition, previous } })

  const publishDraft = Effect.fnUntraced(function* (
    tx: Tx,
    { id: callerId }: Principal,
    before: ConnectorRecord,
    draft: ConnectorVersion,
    { notes, version: named }: PublishOptions
  ): Effect.fn.Return<ChangeOutcome<PublishedConnector>, Failure | AlreadyExists | Changed> {
    const now = yield* currentTimestamp
    yield* yieldToOthers
    const previous = yield* findPublished(tx, before)
    const stored = yield* readStoredDefinition(draft)
    const definition = assignActionVersions(previous, named === undefined ? stored : { ...stored, version: named })
    yield* refuseWith(draftRefusal(before, previous, definition))
    const record: ConnectorRecord = {
      ...before,
      ...membersOf(definition),
      latestVersion: definition.version,
      ...nextVersion(before, now)
    }
    const version = yield* draftOf(record, definition)
    yield* tx.connectorVersions.update({
      ...version,
      notes: notes ?? null,
      publishedAt: now,
      publishedBy: callerId
    })
    yield* tx.connectors.update(record)
    const published = { connector: definition.slug, version: definition.version }
    yield* noteConnector(tx, before.organisationId, published, now)
    return publishedOf(outcomeOf(before, record, definition), definition, previous)
  })

  /** Publishes the draft; without a draft, returns the published version. Fails if there is none to get another version. */
  const publish = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    before: ConnectorRecord,
    options: PublishOptions
  ): Effect.fn.Return<ChangeOutcome<PublishedConnector>, Failure | AlreadyExists | Changed> {
    const draft = yield* tx.connectorVersions.find({ connectorId: before.id, publishedAt: null })
    if (Option.isSome(draft)) return yield* publishDraft(tx, caller, before, draft.value, options)
    if (options.version !== undefined && options.version !== before.latestVersion)
      return yield* new InvalidState({
        state: "published",
        message: `there is no draft to publish as ${options.version}: nothing has changed since ${before.latestVersion ?? "then"}`
      })
    const definition = yield* definitionOf(tx, ownConnector(before), undefined)
    return publishedOf(outcomeOf(before, before, definition), definition, undefined)
  })

  return { findPublished, savedOf, insert, save, publish }
})
