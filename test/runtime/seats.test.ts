/** Nodes take their seats one after the other; one that is cut off meanwhile does not keep the others out. */
import { describe, it } from "@effect/vitest"
import { takeSeatBesideCutOff } from "../support/cutOffSeat.js"

describe("taking a seat", () => {
  it.scopedLive(
    "is not kept from other nodes by one that was cut off while it took its own",
    () => takeSeatBesideCutOff
  )
})
