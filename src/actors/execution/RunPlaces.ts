/** The places of runs: how many an account may have at once on this node. */
import { Context, Effect, Layer } from "effect"
import { makePlaceLeases, type PlaceLeases } from "../PlaceLeases.js"
import { layer as liveRuns, LiveRuns } from "./LiveRuns.js"

export class RunPlaces extends Context.Tag("svc/execution/RunPlaces")<RunPlaces, PlaceLeases>() {}

/** With the runs that are counted. */
export const layer = Layer.provideMerge(
  Layer.scoped(
    RunPlaces,
    Effect.flatMap(LiveRuns, (live) => makePlaceLeases("runs", live.countByAccount))
  ),
  liveRuns
)
