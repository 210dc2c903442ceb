/** Two neighbouring releases share a database, never three, and none below the confirmed one. Decision 64. */
import { assert, describe, it } from "@effect/vitest"
import {
  type BoundMigration,
  confirmedAfterStart,
  confirmRefusal,
  type LiveService,
  planMigrations,
  predecessorEngine,
  type ReleaseRecord,
  startRefusal
} from "../../src/domain/run/ServiceRelease.js"

const node = (release: number, build = `build${release}`): LiveService => ({
  name: `runner at host${release}:1`,
  release,
  build
})
const record = (confirmed: number, engine: string | null = `engine${confirmed}`): ReleaseRecord => ({
  confirmed,
  engine
})

/** A node that carries its own engine and the one before. */
const starting = (release: number, build = `build${release}`) => ({
  release,
  build,
  engines: [`engine${release}`, `engine${release - 1}`]
})

describe("a node that starts", () => {
  it("runs beside its own build and beside a neighbouring release, in both directions", () => {
    for (const [release, live, confirmed] of [
      [2, [2], 2],
      [3, [2, 2], 2],
      [2, [3, 2], 2],
      [2, [3], 2],
      [1, [], 1]
    ] as const)
      assert.isUndefined(
        startRefusal(
          starting(release),
          live.map((one) => node(one)),
          record(confirmed)
        )
      )
  })

  it("is refused two numbers apart, in both directions, with both releases", () => {
    for (const [release, other] of [
      [3, 1],
      [1, 3]
    ] as const) {
      const refusal = startRefusal(starting(release), [node(2), node(other)], record(Math.min(release, other)))
      assert.match(
        refusal ?? "",
        new RegExp(`^This is release ${release} of svc, and a node of release ${other} .*host${other}`)
      )
    }
  })

  it("is refused beside a node of a release without a number, and beside another build of its own", () => {
    assert.match(startRefusal(starting(1), [node(0)], undefined) ?? "", /without a number .*host0.*stop all nodes/)
    assert.match(startRefusal(starting(2), [node(2, "other")], record(2)) ?? "", /^A node of another build .*release 2/)
    assert.isUndefined(startRefusal({ ...starting(2), build: null }, [node(2, "other")], record(2)))
  })

  it("is refused below the confirmed release, and above one that is not confirmed while nodes run", () => {
    assert.match(
      startRefusal(starting(2), [], record(3)) ?? "",
      /release 3 is confirmed .*no way back: start release 3/
    )
    assert.match(
      startRefusal(starting(3), [node(2)], record(1)) ?? "",
      /release 2 is not confirmed .*svc cluster confirm/
    )
    assert.isUndefined(startRefusal(starting(3), [], record(1)))
  })

  it("is refused without the engine on which runs begin, unless it computes none", () => {
    const without = { ...starting(3), engines: ["engine3"] }
    assert.match(startRefusal(without, [node(2)], record(2)) ?? "", /no sandbox engine engine2,/)
    assert.isUndefined(startRefusal({ ...without, engines: null }, [node(2)], record(2)))
    assert.isUndefined(startRefusal(without, [node(3)], record(3)))
  })
})

describe("a release", () => {
  it("is on trial after its predecessor's, and has no way back from an empty or skipped one", () => {
    assert.deepStrictEqual(
      [1, 2, 3, 4].map((release) => confirmedAfterStart(release, record(2))),
      [2, 2, 2, 4]
    )
    assert.strictEqual(confirmedAfterStart(5, undefined), 5)
    assert.strictEqual(predecessorEngine(3, record(2)), "engine2")
    assert.isNull(predecessorEngine(2, record(2)))
  })

  it("is confirmed once all nodes are of it, one number at a time", () => {
    assert.isUndefined(confirmRefusal(3, [node(3)], record(2)))
    assert.isUndefined(confirmRefusal(3, [node(3)], record(3)))
    assert.match(confirmRefusal(3, [node(3), node(2)], record(2)) ?? "", /^A node of release 2 runs .*host2/)
    assert.match(confirmRefusal(1, [node(2)], record(2)) ?? "", /^Release 2 is confirmed, and this is release 1/)
    assert.match(confirmRefusal(4, [], record(2)) ?? "", /confirm release 3 first/)
  })
})

describe("a migration", () => {
  const expand: BoundMigration = { name: "0070_expand", oldestBeside: 2 }
  const contract: BoundMigration = { name: "0071_contract", oldestBeside: 3 }

  it("that expands runs beside the release before, and one that contracts waits for the confirmation", () => {
    assert.deepStrictEqual(planMigrations([expand, contract], 3, [node(2)], record(2)).now, ["0070_expand"])
    assert.deepStrictEqual(planMigrations([expand, contract], 3, [], record(2)).now, ["0070_expand"])
    assert.deepStrictEqual(planMigrations([contract], 3, [node(3)], record(3)).now, ["0071_contract"])
    assert.deepStrictEqual(planMigrations([expand, contract], 3, [], undefined).now, ["0070_expand", "0071_contract"])
  })

  it("that would break a live node, or a release that may be gone back to, is refused with both names", () => {
    const broken = planMigrations([expand, contract], 4, [node(2)], record(2))
    assert.deepStrictEqual(broken.now, [])
    assert.match(broken.refusal ?? "", /^Migration 0071_contract .*break a node of release 2 \(runner at host2:1\)/)
    assert.match(planMigrations([contract], 4, [node(3)], record(2)).refusal ?? "", /release 2 may still .*confirm/)
    assert.isUndefined(planMigrations([contract], 4, [node(3)], record(3)).refusal)
  })
})
