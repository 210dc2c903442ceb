/** The port `UnifiedRecords`: lists, reads and writes records of common models at providers. */
import { Effect, Layer } from "effect"
import { UnifiedRecords } from "../ports/unified/UnifiedRecords.js"
import { Entities } from "./OpenEntity.js"
import { ProviderOperations } from "./ProviderOperations.js"
import { makeRecordLists } from "./RecordLists.js"
import { makeRecordSamples } from "./RecordSamples.js"
import { makeRecordWrites } from "./RecordWrites.js"

export const layer = Layer.effect(
  UnifiedRecords,
  Effect.gen(function* () {
    return UnifiedRecords.of({
      ...(yield* makeRecordLists),
      ...(yield* makeRecordWrites),
      ...(yield* makeRecordSamples)
    })
  })
).pipe(Layer.provide(Layer.merge(Entities.Default, ProviderOperations.Default)))
