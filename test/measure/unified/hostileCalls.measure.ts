/** What a workflow gives calls of records and comparisons, about as large as it may be, delays no other request for long. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { hostileCalls } from "../../support/hostileCalls.js"
import { type Running, start } from "../../support/InProcess.js"
import { assertLoopWithin } from "../../support/loopDelay.js"

let svc: Running
let names = 0
beforeAll(async () => {
  svc = await start()
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

it.each(hostileCalls)("%s", async (_, code) => {
  const execute = await published(code)
  await assertLoopWithin(150, execute)
})
