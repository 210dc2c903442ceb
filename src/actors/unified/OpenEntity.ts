/**
 * Opens an entity for a caller: chooses the connection, and compiles the maps that are in force for its customer. Contract:
 * unified API, provider choice.
 */
import { Effect, Option } from "effect"
import { actionsOf, type EntityDefinition, operationOf } from "../../domain/connector/Entity.js"
import { type EntityMap, mapsOf } from "../../domain/connector/EntityMaps.js"
import { type EntityPlan, entityPlan } from "../../domain/connector/EntityPlan.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import {
  CategoryConnectionRequired,
  Conflict,
  ConnectionRequired,
  type Failure,
  refuseWith,
  Unavailable,
  ValidationFailed
} from "../../domain/Failure.js"
import { effectivePairs, type MapOverride } from "../../domain/mapping/EffectiveMap.js"
import type { BrokenPair } from "../../domain/mapping/FieldMapRecord.js"
import { brokenPairs, strayOverrides } from "../../domain/mapping/inspect/BrokenPairs.js"
import type { Model, Verb } from "../../domain/model/FieldType.js"
import { RecentMap } from "../../domain/RecentMap.js"
import { makeConnectionChoice } from "../ports/connection/ConnectionChoice.js"
import { type CallableConnection, ConnectionReads } from "../ports/connection/ConnectionReads.js"
import { Connectors } from "../ports/connection/Connectors.js"
import { type FieldMapPin, type FieldMapQuery, FieldMapReads } from "../ports/unified/FieldMapReads.js"
import { RunReads } from "../ports/run/RunReads.js"
import type { RecordTarget, RecordUser } from "../ports/unified/UnifiedRecords.js"

/** Maps that are kept compiled. */
const maxPlans = 500

/** What a list was begun with, which its cursors name. */
export interface MapPins {
  readonly connectorVersion: string
  readonly fieldMaps: ReadonlyArray<FieldMapPin>
}

/** A compiled map, and what is broken of its overrides. */
interface CompiledMap {
  readonly plan: EntityPlan
  readonly broken: ReadonlyArray<BrokenPair>
}

/** An entity of a connection that can be read and written. */
export interface OpenEntity {
  readonly connection: CallableConnection
  readonly definition: ConnectorDefinition
  /** One for each variant; a connector has several where its entities share one of the model. */
  readonly plans: ReadonlyArray<EntityPlan>
  readonly pins: MapPins
  /** What the connector's version broke of the overrides: each record that is answered says so. */
  readonly broken: ReadonlyArray<BrokenPair>
}

/** The refusal of a verb. */
export const unsupportedOperation = (what: string): ValidationFailed =>
  new ValidationFailed({ code: "UNSUPPORTED_OPERATION", message: what, details: [] })

const deletedMap = ({ connector, model }: FieldMapQuery): Conflict => {
  const message = `a field map of ${connector} for ${model} was deleted since this workflow was published: publish the workflow again`
  return new Conflict({ code: "CONFLICT", message, details: [{ path: "", code: "FIELD_MAP_GONE", message }] })
}

const kindOf = (model: Model): "cdm" | "unified" => (model.name.includes(".") ? "unified" : "cdm")

const categoryOf = (model: Model): string => (kindOf(model) === "cdm" ? "cdm" : (model.name.split(".")[0] ?? ""))

/** An entity whose records become those of a model. */
interface ServingEntity {
  readonly entity: EntityDefinition
  readonly map: EntityMap
}

/** How the account of a connection writes numbers and dates. */
export const localeOf = ({ config }: Pick<CallableConnection, "config">): string => {
  const { locale } = config
  return typeof locale === "string" ? locale : "en"
}

/** By definition and model: each request asks for them. */
const cachedEntities = new WeakMap<ConnectorDefinition, Map<Model, ReadonlyArray<ServingEntity>>>()

/** The entities of a connector whose records become those of a model. */
const entitiesOf = (definition: ConnectorDefinition, model: Model): ReadonlyArray<ServingEntity> => {
  const known = cachedEntities.get(definition) ?? new Map<Model, ReadonlyArray<ServingEntity>>()
  cachedEntities.set(definition, known)
  const found =
    known.get(model) ??
    definition.entities.flatMap((entity) =>
      mapsOf(entity)
        .filter((map) => map.model.name === model.name)
        .map((map) => ({ entity, map }))
    )
  known.set(model, found)
  return found
}

/** A connection with the definition by which it is called. */
interface DefinedConnection {
  readonly connection: CallableConnection
  readonly definition: ConnectorDefinition
}

const make = Effect.gen(function* () {
  const reads = yield* ConnectionReads
  const choose = yield* makeConnectionChoice
  const connectors = yield* Connectors
  const fieldMaps = yield* FieldMapReads
  const settings = yield* RunReads
  const plans = new RecentMap<string, CompiledMap>(maxPlans)

  /** The definition that the connection was made with, or that the run's workflow was published with. */
  const definitionOf = (
    { maps, organisationId }: RecordUser,
    { connector, connectorVersion }: Pick<CallableConnection, "connector" | "connectorVersion">
  ): Effect.Effect<ConnectorDefinition, Failure> => {
    const atVersion = (version: string) =>
      Effect.flatMap(
        connectors.find(organisationId, connector, version),
        (found): Effect.Effect<ConnectorDefinition, Failure> =>
          Option.isSome(found)
            ? Effect.succeed(found.value)
            : new ConnectionRequired({ connector, message: `the connector ${connector} was deleted` })
      )
    return maps === undefined
      ? atVersion(connectorVersion)
      : Effect.flatMap(fieldMaps.connectorVersion(organisationId, connector, maps.revision), (frozen) =>
          atVersion(frozen ?? connectorVersion)
        )
  }

  const withDefinition = (user: RecordUser, connection: CallableConnection) =>
    Effect.map(definitionOf(user, connection), (definition): DefinedConnection => ({ connection, definition }))

  // --- The connection ---

  const checkReach = ({ refuses }: RecordUser, { connector, id }: CallableConnection) =>
    refuseWith(refuses("connection", id) ?? refuses("connector", connector))

  const missing = (user: RecordUser, model: Model, provider: string | null): Failure => {
    const who =
      user.customerId === null
        ? "the request names no customer: name one in x-end-org-id"
        : `customer ${user.customerId} has connected none`
    return provider === null
      ? new CategoryConnectionRequired({
          category: categoryOf(model),
          message: `no connection to a connector that serves ${model.name}: ${who}`
        })
      : new ConnectionRequired({ connector: provider, message: `no connection to ${provider}: ${who}` })
  }

  /** The connections that may be used: those that the request allows, else the active ones of the customer. */
  const candidates = (
    { allowed, customerId, organisationId, userId }: RecordUser,
    isFresh: boolean
  ): Effect.Effect<ReadonlyArray<CallableConnection>, Unavailable> => {
    if (customerId === null) return Effect.succeed([])
    const active = reads.activeOf(organisationId, customerId, userId, isFresh)
    return allowed === null
      ? active
      : Effect.map(active, (found) => found.filter(({ id }) => allowed.some((one) => one.id === id)))
  }

  /** What the configuration names for the model's category: a connector, or a connection. */
  const configured = Effect.fnUntraced(function* (user: RecordUser, model: Model) {
    const { customerId, environment, installationId, organisationId, spaceId, workflowId } = user
    const found = yield* settings
      .setting(
        { organisationId, spaceId, workflowId, customerId, installationId, environment },
        `unified.${categoryOf(model)}`
      )
      .pipe(Effect.mapError(({ reason }) => new Unavailable({ reason, retryAfterSeconds: 1 })))
    const value = Option.getOrNull(found)
    return typeof value === "string" && value !== "" ? value : null
  })

  const ambiguous = (model: Model, among: ReadonlyArray<CallableConnection>) => {
    const names = [...new Set(among.map(({ connector, id }) => `${connector} (${id})`))].slice(0, 10).join(", ")
    const message = `several connections serve ${model.name}: ${names}. Name one by connection_id or provider, or set unified.${categoryOf(model)} in the configuration`
    return new Conflict({
      code: "CONFLICT",
      message,
      details: [{ path: "connection_id", code: "AMBIGUOUS_CONNECTION", message }]
    })
  }

  /** The connection of a list that a text names. */
  const named = (list: ReadonlyArray<CallableConnection>, user: RecordUser, text: string) =>
    list.find(
      ({ id, label }) =>
        id === text || label === text || user.allowed?.some((one) => one.id === id && one.alias === text) === true
    )

  /** Those whose connector serves the model. */
  const servingOf = Effect.fnUntraced(function* (
    user: RecordUser,
    { model, provider }: RecordTarget,
    all: ReadonlyArray<CallableConnection>
  ): Effect.fn.Return<ReadonlyArray<DefinedConnection>, Failure> {
    const serving: Array<DefinedConnection> = []
    const known = new Map<string, ConnectorDefinition>()
    for (const connection of all) {
      if (provider !== null && provider !== connection.connector) continue
      const key = `${connection.connector}@${connection.connectorVersion}`
      const definition = known.get(key) ?? (yield* definitionOf(user, connection))
      known.set(key, definition)
      if (entitiesOf(definition, model).length > 0) serving.push({ connection, definition })
    }
    return serving
  })

  /** The connection of several: as the configuration says, else the default one of their connector. */
  const oneOfSeveral = Effect.fnUntraced(function* (
    user: RecordUser,
    model: Model,
    serving: ReadonlyArray<CallableConnection>
  ): Effect.fn.Return<CallableConnection, Failure> {
    const wanted = yield* configured(user, model)
    const meant = serving.filter(({ connector, id }) => connector === wanted || id === wanted)
    const left = meant.length > 0 ? meant : serving
    const [first, ...others] = left
    if (first === undefined || others.some(({ connector }) => connector !== first.connector))
      return yield* ambiguous(model, left)
    if (others.length === 0) return first
    const isClear = left.some(({ isDefault }) => isDefault) || user.allowed !== null
    const chosen = isClear ? yield* choose(user, first.connector, null) : Option.none()
    return Option.isSome(chosen) ? chosen.value : yield* ambiguous(model, left)
  })

  const refused = ({ connection, model, provider }: RecordTarget & { readonly connection: string }) =>
    new ConnectionRequired({
      connector: provider ?? categoryOf(model),
      message: `there is no active connection "${connection.slice(0, 60)}" that this request may use`
    })

  /** The connection of those that may be used; none if no one is meant. */
  const connectionAmong = (
    user: RecordUser,
    target: RecordTarget,
    all: ReadonlyArray<CallableConnection>
  ): Effect.Effect<DefinedConnection | undefined, Failure> => {
    const { connection, model, provider } = target
    if (connection !== null) {
      const one = named(all, user, connection)
      return one !== undefined && (provider === null || one.connector === provider)
        ? withDefinition(user, one)
        : Effect.succeed(undefined)
    }
    return Effect.flatMap(servingOf(user, target, all), (serving) => {
      const [first, ...others] = serving
      if (first === undefined || others.length === 0) return Effect.succeed(first)
      const connections = serving.map((one) => one.connection)
      return Effect.flatMap(oneOfSeveral(user, model, connections), (chosen) => {
        const found = serving.find((one) => one.connection.id === chosen.id)
        return found === undefined ? withDefinition(user, chosen) : Effect.succeed(found)
      })
    })
  }

  /** Looks again at what Postgres has before it refuses: the connection may have been made just now. */
  const connectionFor = (user: RecordUser, target: RecordTarget): Effect.Effect<DefinedConnection, Failure> => {
    const { connection, model, provider } = target
    const look = (isFresh: boolean) =>
      Effect.flatMap(candidates(user, isFresh), (all) => connectionAmong(user, target, all))
    const lookAgain = Effect.flatMap(
      Effect.suspend(() => look(true)),
      (found): Effect.Effect<DefinedConnection, Failure> =>
        found !== undefined
          ? Effect.succeed(found)
          : connection === null
            ? Effect.fail(missing(user, model, provider))
            : refused({ ...target, connection })
    )
    return Effect.flatMap(look(false), (found) => (found === undefined ? lookAgain : Effect.succeed(found)))
  }

  // --- The maps ---

  const planOf = (
    {
      connection,
      definition,
      user
    }: { connection: CallableConnection; definition: ConnectorDefinition; user: RecordUser },
    { entity, map }: ServingEntity,
    overrides: ReadonlyArray<MapOverride>
  ): CompiledMap => {
    const written = localeOf(connection)
    const pins = overrides.map(({ origin }) => `${origin.fieldMapId ?? ""}:${origin.version ?? 0}`)
    const key = JSON.stringify([
      user.organisationId,
      definition.slug,
      definition.version,
      entity.name,
      map.model.name,
      written,
      ...pins
    ])
    const cached = plans.get(key)
    if (cached !== undefined) return cached
    const { fields, fieldsOut } = effectivePairs(map, overrides)
    const made = {
      plan: entityPlan(
        entity,
        map.model,
        { fields: fields.map(({ pair }) => pair), fieldsOut: fieldsOut.map(({ pair }) => pair) },
        written
      ),
      broken: brokenPairs(entity, map, overrides)
    }
    plans.set(key, made)
    return made
  }

  const overridesOf = (
    { maps }: RecordUser,
    query: FieldMapQuery,
    pinned: MapPins | null
  ): Effect.Effect<ReadonlyArray<MapOverride>, Failure> => {
    if (pinned !== null) return fieldMaps.pinned(query, pinned.fieldMaps)
    return maps === undefined
      ? fieldMaps.published(query)
      : Effect.flatMap(fieldMaps.asOf(query, maps), (found) =>
          found === null ? deletedMap(query) : Effect.succeed(found)
        )
  }

  /**
   * Opens the entity. `pinned`: what a list was begun with; `null` if that is gone, so that the cursor is refused.
   */
  const open = Effect.fnUntraced(function* (
    user: RecordUser,
    target: RecordTarget,
    verb: Verb,
    pinned: MapPins | null
  ): Effect.fn.Return<OpenEntity | null, Failure> {
    const { model } = target
    if (!model.verbs.includes(verb))
      return yield* unsupportedOperation(`${model.name} has no ${verb}: it has ${model.verbs.join(", ")}`)
    const { connection, definition: current } = yield* connectionFor(user, target)
    yield* checkReach(user, connection)
    const definition =
      pinned === null || pinned.connectorVersion === current.version
        ? current
        : Option.getOrNull(yield* connectors.find(user.organisationId, connection.connector, pinned.connectorVersion))
    if (definition === null || (pinned !== null && definition.version !== pinned.connectorVersion)) return null
    const entities = entitiesOf(definition, model)
    if (entities.length === 0)
      return yield* unsupportedOperation(
        `the connector ${definition.slug} does not serve ${model.name}: GET /api/v1/connectors/${definition.slug} shows what it serves`
      )
    if (entities.every(({ entity }) => actionsOf(entity, operationOf(verb)).length === 0))
      return yield* unsupportedOperation(`the connector ${definition.slug} has no ${verb} of ${model.name}`)
    const place = {
      organisationId: user.organisationId,
      customerId: connection.customerId,
      connector: definition.slug,
      model: model.name
    }
    const opened: Array<EntityPlan> = []
    // A workflow's version has the connector that its maps were published for.
    const placed = user.maps === undefined ? yield* fieldMaps.ofModel(place) : []
    const broken: Array<BrokenPair> = [...strayOverrides(definition, placed)]
    const pins: Array<FieldMapPin> = []
    for (const one of entities) {
      const query = { ...place, entity: one.entity.name }
      const overrides = yield* overridesOf(user, query, pinned)
      for (const { origin } of overrides)
        if (origin.fieldMapId !== null) pins.push({ id: origin.fieldMapId, version: origin.version ?? 0 })
      const compiled = planOf({ connection, definition, user }, one, overrides)
      opened.push(compiled.plan)
      broken.push(...compiled.broken)
    }
    if (pinned !== null && pins.length !== pinned.fieldMaps.length) return null
    return {
      connection,
      definition,
      plans: opened,
      pins: { connectorVersion: definition.version, fieldMaps: pins },
      broken
    }
  })

  return { open }
})

/** Opens entities; keeps their maps compiled. */
export class Entities extends Effect.Service<Entities>()("svc/unified/Entities", { effect: make }) {}
