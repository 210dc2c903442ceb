/** What a workflow gives calls of records and comparisons, about as large as it may be, delays no other request for long. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { assertLoopWithin } from "../support/loopDelay.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let names = 0
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const published = async (code: string) => {
  const ask = (method: string, target: string, body: object) =>
    svc.ask(method, `/api/v1/workflows${target}`, { key: svc.first.key, body })
  const made = await ask("POST", "", {
    name: `hostile_${(names += 1)}`,
    form: "code",
    code: `export default async () => { ${code} }`
  })
  assert.strictEqual(made.status, 201, made.text)
  const { id } = made.body.data
  await ask("POST", `/${id}/publish`, {})
  return () => ask("POST", `/${id}/execute`, {})
}

const refused = (error: string) => `.catch((error) => [error.name, error.${error}])`

it.each([
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
])("%s", async (_, code, expected) => {
  const execute = await published(code)
  await assertLoopWithin(150, async () => {
    assert.deepStrictEqual((await execute()).body, expected)
  })
})
