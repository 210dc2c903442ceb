/** What counts the limits of organisations, in Postgres. */
import { Layer } from "effect"
import * as PlaceHoldings from "./PlaceHoldings.js"
import * as RateWindows from "./RateWindows.js"

export const layer = Layer.merge(RateWindows.layer, PlaceHoldings.layer)
