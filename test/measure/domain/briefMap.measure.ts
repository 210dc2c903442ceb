/** A map for entries that come and go leaves what was removed to the collector of young objects. */
import { it } from "@effect/vitest"
import * as v8 from "node:v8"
import * as vm from "node:vm"
import { BriefMap } from "../../../src/domain/BriefMap.js"
import { assertBytes, assertFigure } from "../../support/figures.js"

v8.setFlagsFromString("--expose-gc")
const collect: (options?: { readonly type: "minor" }) => void = vm.runInNewContext("gc")
/** What a collection of young objects leaves. */
const heldBytes = () => {
  collect({ type: "minor" })
  return v8.getHeapStatistics().used_heap_size
}

interface Entries {
  readonly set: (key: number, value: object) => unknown
  readonly delete: (key: number) => unknown
}
/** Bytes that are held after 4,000 values of 8 kB passed through an old map, 16 at a time. */
const bytesLeftIn = (map: Entries) => {
  const live = 16
  for (let n = 0; n < live; n++) map.set(n, [])
  collect()
  const before = heldBytes()
  for (let n = live; n < 4_000; n++) {
    map.set(
      n,
      Array.from({ length: 1_000 }, () => n)
    )
    map.delete(n - live)
    if (n % 500 === 0) collect({ type: "minor" })
  }
  return heldBytes() - before
}

it("a BriefMap leaves the values that were removed to the collector of young objects, which a Map does not", () => {
  // The first pass compiles the functions.
  bytesLeftIn(new BriefMap())
  const left = bytesLeftIn(new BriefMap())
  const leftInMap = bytesLeftIn(new Map<number, object>())
  assertBytes(left, 3_000_000)
  assertFigure({ of: "what a Map leaves, for one of this", value: 5 / (leftInMap / left), bound: 1, unit: "times" })
})
