/** The use cases of common records, and of the maps between them and providers' records, as one layer. */
import { Layer } from "effect"
import { EffectiveMaps } from "./EffectiveMaps.js"
import { FieldMapTests } from "./FieldMapTests.js"
import { FieldMaps } from "./FieldMaps.js"
import { UnifiedApi } from "./UnifiedApi.js"

export const unifiedUseCases = Layer.mergeAll(
  EffectiveMaps.Default,
  FieldMapTests.Default,
  FieldMaps.Default,
  UnifiedApi.Default
)
