/** The shard's actor: it answers. */
import { Duration, Effect } from "effect"
import { Faults } from "../ports/Faults.js"
import { Shard } from "./Protocol.js"

export const layer = Shard.toLayer(
  Effect.map(Faults, (faults) => Shard.of({ Ask: () => faults.at("asked") })),
  { maxIdleTime: Duration.seconds(5), disableFatalDefects: true }
)
