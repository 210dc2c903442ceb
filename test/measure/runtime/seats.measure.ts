/** A seat is taken soon, also beside a node that was cut off while it took its own. */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { takeSeatBesideCutOff } from "../../support/cutOffSeat.js"
import { assertWithin } from "../../support/pace.js"

/** As long as a start waits for one statement, and as long as a seat may be silent while it is taken. */
const patienceMillis = 8_000

describe("taking a seat", () => {
  it.scopedLive("beside a node that was cut off while it took its own", () =>
    Effect.map(takeSeatBesideCutOff, (took) => assertWithin(took, patienceMillis))
  )
})
