/** The limits of a plan on stored records are exact, even under concurrent creation. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { definition, startCalls, stopCalls, svc } from "../support/calls.js"

beforeAll(() => startCalls(), 60_000)
afterAll(() => stopCalls())

const things: ReadonlyArray<{
  readonly path: string
  readonly dimension: string
  readonly limit: number
  /** The records that a new organisation has already. */
  readonly before: number
  readonly body: (n: number) => object
}> = [
  {
    path: "/api/v1/workflows",
    dimension: "flows_per_tenant",
    limit: 10,
    before: 1,
    body: (n) => ({ name: `flow_${n}`, form: "code", code: "export default async function f() {}" })
  },
  {
    path: "/api/v1/connectors",
    dimension: "connectors_per_tenant",
    limit: 3,
    before: 0,
    body: (n) => definition(`plan-limit-${n}`, "1.0.0")
  },
  {
    path: "/api/v1/api-keys",
    dimension: "organisation_api_keys",
    limit: 10,
    before: 1,
    body: (n) => ({ name: `key ${n}`, mode: "live" })
  }
]

describe("the records that a plan allows", () => {
  for (const { before, body, dimension, limit, path } of things)
    it(`is never exceeded by what is made at once: ${dimension}`, async () => {
      const { key } = await svc.organisation(`Small ${dimension}`, "starter")
      const answers = await Promise.all(
        Array.from({ length: limit + 6 }, (_, n) => svc.ask("POST", path, { key, body: body(n) }))
      )
      const made = answers.filter(({ status }) => status === 201)
      assert.lengthOf(made, limit - before, JSON.stringify(answers.map(({ body }) => body)))
      for (const refused of answers.filter(({ status }) => status !== 201)) {
        assert.deepStrictEqual([refused.status, refused.body.code], [403, "PLAN_LIMIT_REACHED"])
        assert.deepInclude(refused.body.quota, { dimension, limit, used: limit })
      }
    })
})
