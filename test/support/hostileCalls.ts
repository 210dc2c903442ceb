/** Code of workflows that gives calls of records and comparisons about as much as it may, and what it returns. */
const refused = (error: string) => `.catch((error) => [error.name, error.${error}])`

export const hostileCalls: ReadonlyArray<readonly [name: string, code: string, expected: unknown]> = [
  [
    "20,000 unknown arguments of a list",
    `return await svc.unified.crm.contact.list(Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => ["page" + n, 1])))${refused("code")}`,
    ["TypeError", "INVALID_ARGUMENTS"]
  ],
  [
    "20,000 unknown options",
    `return await svc.cdm.order.list({}, Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => ["retry" + n, 1])))${refused("code")}`,
    ["TypeError", "INVALID_ARGUMENTS"]
  ],
  [
    "one record of 12,000 members that all differ",
    `const of = (value) => [{ id: 1, ...Object.fromEntries(Array.from({ length: 12_000 }, (_, n) => ["m" + n, value])) }]
     return (await svc.diff.compare({ name: "wide", source: of(1), target: of(2), key: "id" })).summary.changed`,
    1
  ],
  [
    "one member with a name of a million characters above thousands",
    `const of = (value) => [{ id: 1, ["x".repeat(1e6)]: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => ["m" + n, value])) }]
     return await svc.diff.compare({ name: "long", source: of(1), target: of(2), key: "id" })${refused("code")}`,
    ["RangeError", "TOO_LARGE"]
  ],
  [
    "200 fields that are the same large member",
    `const of = (value) => [{ id: 1, a: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => ["m" + n, n === 0 ? value : 0])) }]
     return (await svc.diff.compare({ name: "same", source: of(1), target: of(2), key: "id", fields: Array(200).fill("a") })).changed[0].fields.length`,
    1
  ]
]
