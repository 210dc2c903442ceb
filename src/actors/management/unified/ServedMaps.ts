/** Finds the map of a connector's published version that an override or a request is for. */
import { Effect, Option } from "effect"
import { didYouMean } from "../../../domain/ClosestName.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { EntityDefinition } from "../../../domain/connector/Entity.js"
import { type EntityMap, mapsOf } from "../../../domain/connector/EntityMaps.js"
import { type Failure, invalid } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { Connectors } from "../../ports/connection/Connectors.js"

/** The entity and map that an override or a request is for. */
export interface ServedMap {
  readonly definition: ConnectorDefinition
  readonly entity: EntityDefinition
  readonly map: EntityMap
}

/** The entity of a definition that serves a model; `undefined` where it names another, or none is meant. */
export const servedMap = (
  definition: ConnectorDefinition,
  model: string,
  entity: string | undefined
): ServedMap | undefined =>
  definition.entities
    .filter((one) => entity === undefined || one.name === entity)
    .flatMap((one) => mapsOf(one).map((map) => ({ definition, entity: one, map })))
    .find(({ map }) => map.model.name === model)

/** Makes the function that finds the map. It fails with what the connector has instead. */
export const makeServedMaps = Effect.gen(function* () {
  const connectors = yield* Connectors
  return Effect.fnUntraced(function* (
    organisation: OrganisationId,
    asked: { readonly connector: string; readonly model: string; readonly entity: string | undefined }
  ): Effect.fn.Return<ServedMap, Failure> {
    const definition = Option.getOrUndefined(yield* connectors.find(organisation, asked.connector))
    if (definition === undefined)
      return yield* invalid(
        "connector",
        "NOT_FOUND",
        `names no published connector.${didYouMean(asked.connector, yield* connectors.slugs(organisation))}`
      )
    const found = servedMap(definition, asked.model, asked.entity)
    if (found !== undefined) return found
    const all = definition.entities.flatMap((entity) => mapsOf(entity).map(({ model }) => ({ entity, model })))
    return yield* all.some(({ entity }) => entity.name === asked.entity || asked.entity === undefined)
      ? invalid(
          "model",
          "UNKNOWN_NAME",
          `is not served there: ${definition.slug} has ${all.map(({ entity, model }) => `${entity.name} (${model.name})`).join(", ")}`
        )
      : invalid(
          "entity",
          "UNKNOWN_NAME",
          `is none of ${definition.slug}: it has ${all.map(({ entity }) => entity.name).join(", ")}`
        )
  })
})
