/** The work of an organisation is done soon while the providers of others hang. */
import { afterAll, beforeAll, describe, it } from "@effect/vitest"
import { beside, hang, isServed, startHanging, stopHanging, whileHanging } from "../../support/hangingPartners.js"
import { assertWithin } from "../../support/pace.js"

beforeAll(startHanging, 180_000)
afterAll(stopHanging)

/**
 * Far less than the 30 s for which a provider that hangs keeps a place; more than the 10 s after which a connection that was
 * looked at is so again: not within 5 s of that, and the next sweep may be 5 s later.
 */
const soonMillis = 13_000

describe("While the providers of four organisations hang", () => {
  for (const use of ["polls", "subscriptions", "refreshes"] as const)
    it(`those of another have their ${use}`, () =>
      whileHanging(async () => {
        await hang(use)
        for (let n = 0; n < 3; n++) {
          const from = performance.now()
          await isServed(use, beside, 2)
          assertWithin(performance.now() - from, soonMillis)
        }
      }))
})
