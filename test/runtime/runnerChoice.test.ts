/** The choice of a runner for a guest, and whether a waiting turn may move to another runner. */
import { assert, describe, it } from "@effect/vitest"
import { LongTurns } from "../../src/runtime/sandbox/LongTurns.js"
import { makeRunnerChoice } from "../../src/runtime/sandbox/RunnerChoice.js"
import type { RunnerProcess } from "../../src/runtime/sandbox/RunnerProcess.js"
import { ownerOf } from "../support/shareOwners.js"

const runner = (busyTenant: string | undefined, load = 1): RunnerProcess =>
  ({
    isAlive: () => true,
    load: () => load,
    busyTenant: () => busyTenant,
    longTurns: new LongTurns()
  }) as unknown as RunnerProcess

describe("a turn that waits behind another tenant's", () => {
  it("moves when another runner is free", () => {
    const [own, other] = [runner("org_evil"), runner(undefined)]
    assert.isTrue(makeRunnerChoice([own, other], () => undefined).canMove("org_victim", own))
    assert.isTrue(makeRunnerChoice([own], () => other).canMove("org_victim", own))
  })

  it("stays where no other runner is free, also while its own does not count as busy yet", () => {
    const own = runner(undefined)
    assert.isFalse(makeRunnerChoice([own], () => undefined).canMove("org_victim", own))
    assert.isFalse(makeRunnerChoice([own, runner("org_evil")], () => undefined).canMove("org_victim", own))
  })
})

describe("a tenant with long turns", () => {
  const busyFleet = () => {
    const runners = [runner(undefined), runner(undefined)]
    const choice = makeRunnerChoice(runners, () => undefined, 2)
    const own = choice.choose(ownerOf("org_evil"))
    own?.longTurns.add("org_evil", 500, performance.now())
    const loaded = runners.map((one) => (one === own ? { ...one, load: () => 40 } : one))
    return { own: loaded.find((one) => one.load() === 40), fleet: makeRunnerChoice(loaded, () => undefined, 2) }
  }

  it("stays on one of two processors while another tenant is active", () => {
    const { fleet, own } = busyFleet()
    assert.notStrictEqual(fleet.choose(ownerOf("org_victim")), own)
    assert.strictEqual(fleet.choose(ownerOf("org_evil")), own)
  })

  it("gets both while it is alone", () => {
    const { fleet, own } = busyFleet()
    assert.notStrictEqual(fleet.choose(ownerOf("org_evil")), own)
  })

  it("stays on one of two processors also as eight organisations of one account", () => {
    const choice = makeRunnerChoice([runner(undefined), runner(undefined)], () => undefined, 2)
    const chosen = new Set<RunnerProcess | undefined>()
    for (let n = 0; n < 8; n++) {
      choice.choose(ownerOf("org_victim"))
      const own = choice.choose(ownerOf(`org_child${n}`, "org_evil"))
      chosen.add(own)
      own?.longTurns.add("org_evil", 500, performance.now())
    }
    assert.strictEqual(chosen.size, 1)
  })
})
