/** Sums of ended runs: each is counted once, whenever its transaction commits, and told to whom the run would be. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Deferred, Effect, FiberId } from "effect"
import { ulidTime } from "../../src/domain/Ids.js"
import { slotMillis } from "../../src/domain/run/ExecutionStats.js"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { sumExecutions } from "../../src/runtime/postgres/run/ExecutionStats.js"
import { startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { eventually } from "../support/eventually.js"
import { makeKey, makeScopedKey } from "../support/keys.js"

beforeAll(startSharedCalls)
afterAll(stopCalls)

interface Bucket {
  readonly total: number
  readonly completed: number
  readonly failed: number
  readonly p50Ms: number | null
  readonly p95Ms: number | null
}

const read = async (what: string, key = svc.first.key) => {
  const answer = await svc.ask("GET", `/api/v1/executions/${what}`, { key })
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.body.data
}
const countsOf = async (query: string, key?: string) => {
  const buckets: ReadonlyArray<Bucket> = await read(`stats?${query}`, key)
  const sum = (of: (bucket: Bucket) => number) => buckets.map(of).reduce((a, b) => a + b, 0)
  return [sum(({ total }) => total), sum(({ completed }) => completed), sum(({ failed }) => failed)]
}
const run = async (id: string, customer?: string) => {
  const headers = customer === undefined ? {} : { "x-end-org-id": customer }
  return svc.ask("POST", `/api/v1/workflows/${id}/execute`, { key: svc.first.key, headers, body: { input: {} } })
}
/** The service sums up by itself, too: one of them at a time. */
const summed = (query: string, total: number) =>
  eventually(
    async () => {
      await svc.run(sumExecutions)
      return countsOf(query)
    },
    ([all]) => all === total
  )

describe("the numbers of executions", () => {
  it("count each run once, by workflow, customer and caller", async () => {
    const [good, bad] = [await workflow("return 1"), await workflow("throw new TypeError('no')")]
    const customer = (await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Counted" } }))
      .body.data.id
    for (let n = 0; n < 3; n++) await run(good)
    await run(good, customer)
    await run(bad)
    await run(bad, customer)
    assert.deepStrictEqual(await summed("bucket=minute", 6), [6, 4, 2])
    await svc.run(sumExecutions)
    for (const bucket of ["minute", "hour", "day"]) {
      assert.deepStrictEqual(await countsOf(`bucket=${bucket}`), [6, 4, 2])
      assert.deepStrictEqual(await countsOf(`bucket=${bucket}&workflow_id=${good}`), [4, 4, 0])
      assert.deepStrictEqual(await countsOf(`bucket=${bucket}&customer_id=${customer}`), [2, 1, 1])
      assert.deepStrictEqual(await countsOf(`bucket=${bucket}&customer_id=${customer}&workflow_id=${bad}`), [1, 0, 1])
    }
    const [{ p50Ms, p95Ms }] = await read("stats?bucket=day")
    assert.isAtMost(p50Ms, p95Ms)

    const subset = await makeKey(svc, { customers: { mode: "subset", ids: [customer] } })
    assert.deepStrictEqual(await countsOf("", subset.key), [2, 1, 1])
    assert.deepStrictEqual(await countsOf(`customer_id=${svc.first.customerId}`, subset.key), [0, 0, 0])
    const narrowed = await makeScopedKey(svc, { workflow: [bad] })
    assert.deepStrictEqual(await countsOf("", narrowed.key), [2, 0, 2])

    const groups = await read("failures")
    assert.lengthOf(groups, 1)
    assert.deepInclude(groups[0], { workflowId: bad, error: "TypeError", count: 2 })
    assert.lengthOf(groups[0].examples, 2)
    const [own] = await read("failures", subset.key)
    assert.strictEqual(own.count, 1)
    assert.deepStrictEqual(await read(`failures?workflow_id=${good}`), [])
  })

  it("count a run that commits late, and none twice", async () => {
    const id = await workflow("return 2")
    await run(id)
    await summed(`workflow_id=${id}`, 1)
    const commit = Deferred.unsafeMake<void>(FiberId.none)
    const written = Deferred.unsafeMake<void>(FiberId.none)
    const late = svc.run(
      Effect.flatMap(WriterSql, (sql) =>
        sql.withTransaction(
          sql`INSERT INTO executions (id, class, org, space, status, workflow_id, trigger_type, finished_at, record)
            SELECT ${`exec_${ulidTime(Date.now())}0000000000000000`}, class, org, space, 'failed', workflow_id, trigger_type, now(),
              record FROM executions WHERE workflow_id = ${id} LIMIT 1`.pipe(
            Effect.zipRight(Deferred.succeed(written, undefined)),
            Effect.zipRight(Deferred.await(commit))
          )
        )
      )
    )
    await svc.run(Deferred.await(written))
    await run(id)
    await summed(`workflow_id=${id}`, 2)
    await svc.run(Deferred.succeed(commit, undefined))
    await late
    await summed(`workflow_id=${id}`, 3)
    await svc.run(sumExecutions)
    assert.deepStrictEqual(await countsOf(`workflow_id=${id}`), [3, 2, 1])
  })

  it("are bounded, and the refusal says by what", async () => {
    const refusal = async (query: string) => {
      const { body, status } = await svc.ask("GET", `/api/v1/executions/${query}`, { key: svc.first.key })
      return [status, body.message]
    }
    const ago = (hours: number) => encodeURIComponent(new Date(Date.now() - hours * 3_600_000).toISOString())
    const [wide, words] = await refusal(`stats?bucket=minute&from=${ago(20)}`)
    assert.strictEqual(wide, 422)
    assert.include(String(words), "at most 750 buckets")
    assert.include(String((await refusal(`stats?bucket=minute&from=${ago(60)}&to=${ago(55)}`))[1]), "kept for 2 days")
    assert.strictEqual((await refusal(`stats?from=${ago(1)}&to=${ago(5)}`))[0], 422)
    assert.strictEqual((await refusal(`failures?from=${ago(40 * 24)}`))[0], 422)
    assert.isNotEmpty(await read(`failures?from=${ago(20 * 24)}`))
  })

  it("have percentiles within ten per cent", () => {
    for (let millis = 1; millis < 1e8; millis = Math.ceil(millis * 1.37)) {
      const slot = 1 + Math.floor((4 * Math.log(millis)) / Math.log(2))
      assert.approximately(slotMillis(slot), millis, Math.max(1, millis * 0.1))
    }
  })
})
