/** Providers of four organisations that hang keep no other's polls, subscriptions, refreshes or tests waiting. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { outwardPlaces } from "../../src/domain/Limits.js"
import { eventually } from "../support/eventually.js"
import {
  beside,
  hang,
  hangers,
  hangingAt,
  hangingOrganisations,
  isServed,
  type Member,
  startHanging,
  stopHanging,
  svc,
  uses,
  whileHanging
} from "../support/hangingPartners.js"
import { scaled } from "../support/slowness.js"

beforeAll(startHanging, scaled(180_000))
afterAll(stopHanging)

describe("While the providers of four organisations hang", () => {
  for (const use of ["polls", "subscriptions", "refreshes"] as const)
    it(`those of another have their ${use}`, async () => {
      const { path } = uses[use]
      await whileHanging(async () => {
        await hang(use)
        for (let n = 0; n < 3; n++) await isServed(use, beside, 2)
        assert.isAtLeast(hangingAt(path), hangingOrganisations)
        assert.isAtMost(hangingAt(path), outwardPlaces[use].perNode)
      })
    })

  it("those of another are tested, and more of theirs than have a place are refused", async () => {
    const test = ({ ids, key }: Member, n: number) =>
      svc.ask("POST", `/api/v1/connections/${ids[n % ids.length]}/test`, { key, body: {} })
    let waiting: ReadonlyArray<ReturnType<typeof test>> = []
    await whileHanging(async () => {
      waiting = hangers.flatMap((member) => Array.from({ length: 20 }, (_, n) => test(member, n)))
      await eventually(
        async () => hangingAt("me"),
        (found) => found >= 30
      )
      for (let n = 0; n < 4; n++) {
        const answer = await test(beside, n)
        assert.deepStrictEqual([answer.status, answer.body.data?.ok], [200, true], answer.text)
      }
      assert.isAtMost(hangingAt("me"), outwardPlaces.tests.perNode)
      const refused = await Promise.race(waiting)
      assert.deepStrictEqual([refused.status, refused.body.retryable], [503, true], refused.text)
    })
    await Promise.all(waiting)
  })
})
