/** Measures `svc.diff.compare` against `JSON.parse` of both lists: 10,000 records each, a tenth of which differ. At most 5 times as long. */
import { compareLists } from "../src/domain/diff/ListComparison.js"
import type { JsonObject } from "../src/domain/Json.js"
import { shortest } from "./support/Shortest.js"
import { Table } from "./support/Table.js"

const count = 10_000
const must = 5

const recordAt = (at: number, isChanged: boolean): JsonObject => ({
  id: `id_${at}`,
  name: isChanged ? `Renamed ${at}` : `Name ${at}`,
  email: `person${at}@example.com`,
  active: at % 3 === 0,
  total: `${at}.50`,
  tags: ["one", "two", `t${at % 7}`],
  address: { street: `Street ${at}`, city: isChanged ? "Paris" : "London", zip: String(10_000 + at), country: "GB" },
  updatedAt: `2026-11-${String(1 + (at % 28)).padStart(2, "0")}T00:00:00Z`
})

const listFrom = (first: number, isChanged: (at: number) => boolean): string =>
  JSON.stringify(Array.from({ length: count }, (_, at) => recordAt(first + at, isChanged(first + at))))

export const comparison = (): Promise<void> => {
  const texts = [listFrom(0, () => false), listFrom(100, (at) => at % 10 === 0)] as const
  const parsing = shortest(() => texts.forEach((text) => JSON.parse(text)))
  const [source, target] = texts.map((text): ReadonlyArray<JsonObject> => JSON.parse(text))
  let longest = 0
  const comparing = shortest(() => {
    const work = compareLists({
      source: source ?? [],
      target: target ?? [],
      key: ["id"],
      fields: null,
      ignore: [["updatedAt"]]
    })
    for (;;) {
      const from = performance.now()
      const step = work.next()
      longest = Math.max(longest, performance.now() - from)
      if (step.done !== true) continue
      if (step.value?.summary.added !== 100) throw new Error(JSON.stringify(step.value?.summary))
      return
    }
  })
  const table = new Table("", "times JSON.parse", "at most", "longest slice, ms")
  table.add(`two lists of ${count} records`, (comparing / parsing).toFixed(2), must, longest.toFixed(1))
  table.print("Comparison of lists")
  return Promise.resolve()
}
