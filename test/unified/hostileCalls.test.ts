/** What a workflow gives calls of records and comparisons, about as large as it may be, has its result or its typed failure. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { hostileCalls } from "../support/hostileCalls.js"
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

it.each(hostileCalls)("%s", async (_, code, expected) => {
  const execute = await published(code)
  assert.deepStrictEqual((await execute()).body, expected)
})
