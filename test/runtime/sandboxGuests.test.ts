/** Instances of guests are kept while there is load, within a bound, and given back when there is none. */
import { assert, describe, it } from "vitest"
import type { Engine } from "../../src/runtime/sandbox/runner/Engine.js"
import { makeGuests } from "../../src/runtime/sandbox/runner/Guests.js"
import type { Instance } from "../../src/runtime/sandbox/runner/Instance.js"

const mebibyte = 1024 * 1024
const limits = { memoryBytes: 128 * mebibyte, cpuMillis: 1000 }

/** Guests of an engine that only counts its instances; each guest allocates `usedBytes`. */
const world = (usedBytes = 0) => {
  const made = { instances: 0, now: 0 }
  const newInstance = (): Promise<Instance> => {
    made.instances++
    // Of an instance the code under test uses these members only.
    return Promise.resolve({ isSpoiled: false, touchedBytes: 0 } as Instance)
  }
  // The snapshot is opaque to the code under test.
  const snapshot = {} as Awaited<ReturnType<Engine["load"]>>["snapshot"]
  const engine: Engine = {
    load: async () => ({ snapshot, instance: await newInstance() }),
    restore: newInstance,
    rewind: () => true,
    limit: () => undefined,
    step: () => assert.fail("no guest computes here"),
    standing: () => undefined,
    usedBytes: () => usedBytes,
    isFull: () => false
  }
  const guests = makeGuests(engine, 200, () => made.now)
  guests.define(1, Buffer.from(""))
  /** So many runs are live at once, and end. */
  const burst = async (size: number): Promise<void> => {
    const live: Array<Awaited<ReturnType<typeof guests.open>>> = []
    for (let session = 0; session < size; session++) live.push(await guests.open(session, 1, limits))
    for (const guest of live) guests.release(guest)
  }
  return { burst, guests, made }
}

describe("Instances of guests", () => {
  it("are made once for a load that comes in bursts of seconds", async () => {
    const { burst, guests, made } = world()
    for (let second = 0; second < 60; second += 3) {
      made.now = second * 1000
      await burst(50)
      guests.collect(false)
      made.now += 1500
      guests.collect(true)
    }
    assert.strictEqual(made.instances, 50)
  })

  it("are given back by an idle runner, except a few", async () => {
    const { burst, guests, made } = world()
    await burst(50)
    let rounds = 0
    for (; guests.collect(true); rounds++) made.now += 1000
    assert.isBelow(rounds, 15)
    await burst(50)
    assert.strictEqual(made.instances, 50 + 42)
  })

  it("have bounded memory, also if each is large", async () => {
    const { burst, made } = world(3 * mebibyte)
    await burst(100)
    await burst(100)
    // 192 MiB are 48 of them, with a mebibyte of each instance's own.
    assert.strictEqual(made.instances, 100 + 52)
  })

  it("are not kept after a guest that allocated more than a few mebibytes", async () => {
    const { burst, made } = world(5 * mebibyte)
    await burst(3)
    await burst(3)
    assert.strictEqual(made.instances, 6)
  })
})
