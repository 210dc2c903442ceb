/** Finds the published overrides of field maps that a version of a connector breaks. Contract: versioning policy; unified API. */
import { Effect } from "effect"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { mapsOf } from "../../../domain/connector/EntityMaps.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { MapOverride } from "../../../domain/mapping/EffectiveMap.js"
import type { BrokenPair } from "../../../domain/mapping/FieldMapRecord.js"
import {
  brokenPairs,
  goneFields,
  type PlacedOverride,
  strayOverrides
} from "../../../domain/mapping/inspect/BrokenPairs.js"
import { FieldMapReads } from "../../ports/unified/FieldMapReads.js"
import { turn } from "../../SlicedWork.js"

/** Overrides of one page, the most pairs that are looked at, and the most broken parts that are named. */
const pageSize = 20
const maxPairs = 200_000
const maxNamed = 1_000

/** The broken parts. `isComplete`: whether all overrides were looked at, and all parts named. */
export interface BrokenFieldMaps {
  readonly broken: ReadonlyArray<BrokenPair>
  readonly isComplete: boolean
}

/** Makes the function that finds them. `previous`: the version before, whose fields the overrides may read. */
export const makeBrokenFieldMaps = Effect.map(FieldMapReads, (reads) =>
  Effect.fnUntraced(function* (
    organisation: OrganisationId,
    definition: ConnectorDefinition,
    previous: ConnectorDefinition | undefined
  ): Effect.fn.Return<BrokenFieldMaps, Unavailable> {
    const broken: Array<BrokenPair> = []
    /** The organisation's override of each map, which those of customers come after. */
    const shared = new Map<string, MapOverride>()
    let last: PlacedOverride | undefined
    let pairs = 0
    for (;;) {
      const page: ReadonlyArray<PlacedOverride> = yield* reads.ofConnector(
        organisation,
        definition.slug,
        last,
        pageSize
      )
      for (const one of page) {
        broken.push(...partsOf(definition, previous, shared, one))
        pairs += one.override.fields.length + (one.override.fieldsOut?.length ?? 0)
        yield* turn
        if (broken.length > maxNamed || pairs > maxPairs)
          return { broken: broken.slice(0, maxNamed), isComplete: false }
      }
      last = page.at(-1)
      if (page.length < pageSize) return { broken, isComplete: true }
    }
  })
)

const partsOf = (
  definition: ConnectorDefinition,
  previous: ConnectorDefinition | undefined,
  shared: Map<string, MapOverride>,
  one: PlacedOverride
): ReadonlyArray<BrokenPair> => {
  const { entity: name, model, override } = one
  const key = JSON.stringify([name, model])
  const isShared = override.origin.level === "organisation"
  if (isShared) shared.set(key, override)
  const entity = definition.entities.find((found) => found.name === name)
  const map = entity === undefined ? undefined : mapsOf(entity).find((found) => found.model.name === model)
  if (entity === undefined || map === undefined) return strayOverrides(definition, [one])
  const below = isShared ? undefined : shared.get(key)
  const own = override.origin.fieldMapId
  return [
    ...brokenPairs(entity, map, below === undefined ? [override] : [below, override]).filter(
      ({ fieldMapId }) => fieldMapId === own
    ),
    ...(previous === undefined ? [] : goneFields(previous, definition, one))
  ]
}
