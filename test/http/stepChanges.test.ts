/** The changes of a run's steps are read without a gap: also of a transaction that commits late, and of a run that ends. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Deferred, Effect, FiberId } from "effect"
import { ulidTime } from "../../src/domain/Ids.js"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { eventually } from "../support/eventually.js"

beforeAll(startSharedCalls)
afterAll(stopCalls)

const stepsOf = async (id: string, query: string) => {
  const answer = await svc.ask("GET", `/api/v1/executions/${id}/steps?${query}`, { key: svc.first.key })
  assert.strictEqual(answer.status, 200, answer.text)
  const { changedSince, data, page } = answer.body
  return {
    token: String(changedSince),
    hasMore: page.hasMore === true,
    steps: data.map(({ index, status }: { index: number; status: string }) => [index, status])
  }
}

const since = (token: string, size = 200) => `changed_since=${token}&page_size=${size}`

let records = 0
/** A record whose steps the tests write. */
const newRecord = async () => {
  const { organisationId, spaceId, workflowId } = svc.first
  const id = `exec_${ulidTime(Date.now())}${String((records += 1)).padStart(16, "0")}`
  const run = await newRun("return 1", "instant")
  await svc.run(
    Effect.flatMap(
      WriterSql,
      (
        sql
      ) => sql`INSERT INTO executions (id, class, org, space, status, workflow_id, trigger_type, finished_at, record)
        SELECT ${id}, 365, ${organisationId}, ${spaceId}, 'completed', ${workflowId}, 'api', now(), e.record
        FROM executions e WHERE e.id = ${run}`
    )
  )
  return id
}

const newRun = async (body: string, tier: string): Promise<string> => {
  const wid = await workflow(body, tier)
  const answer = await svc.ask("POST", `/api/v1/workflows/${wid}/execute`, { key: svc.first.key, body: { input: {} } })
  assert.oneOf(answer.status, [200, 202], answer.text)
  return String(answer.headers["x-svc-execution-id"])
}

const put = (id: string, index: number, status = "completed") =>
  Effect.flatMap(
    WriterSql,
    (sql) => sql`INSERT INTO steps (id, class, org, index, status, record)
      VALUES (${id}, 365, ${svc.first.organisationId}, ${index}, ${status}, ${JSON.stringify({ index })}::json)
      ON CONFLICT (id, class, index) DO UPDATE SET status = excluded.status`
  )

describe("the steps of a run that changed since a token", () => {
  it("are all of them at first, then those that were written since", async () => {
    const id = await newRecord()
    await svc.run(Effect.all([put(id, 0), put(id, 1, "failed")]))
    const first = await stepsOf(id, since(""))
    assert.deepStrictEqual(first.steps, [
      [0, "completed"],
      [1, "failed"]
    ])
    assert.deepStrictEqual((await stepsOf(id, since(first.token))).steps, [])
    await svc.run(Effect.all([put(id, 1), put(id, 2)]))
    const second = await stepsOf(id, since(first.token))
    assert.deepStrictEqual(second.steps, [
      [1, "completed"],
      [2, "completed"]
    ])
    assert.deepStrictEqual((await stepsOf(id, since(second.token))).steps, [])
  })

  it("have those that were written earlier and committed later", async () => {
    const id = await newRecord()
    const written = Deferred.unsafeMake<void>(FiberId.none)
    const commit = Deferred.unsafeMake<void>(FiberId.none)
    const late = svc.run(
      Effect.flatMap(WriterSql, (sql) =>
        sql.withTransaction(
          put(id, 0).pipe(
            Effect.zipRight(Deferred.succeed(written, undefined)),
            Effect.zipRight(Deferred.await(commit))
          )
        )
      )
    )
    await svc.run(Deferred.await(written))
    await svc.run(put(id, 1))
    const before = await stepsOf(id, since(""))
    assert.deepStrictEqual(before.steps, [[1, "completed"]])
    await svc.run(Deferred.succeed(commit, undefined))
    await late
    assert.deepStrictEqual((await stepsOf(id, since(before.token))).steps, [[0, "completed"]])
  })

  it("come in several answers, while steps that were answered already change again", async () => {
    const id = await newRecord()
    await svc.run(Effect.all([0, 1, 2].map((index) => put(id, index))))
    const first = await stepsOf(id, since("", 2))
    assert.isTrue(first.hasMore)
    await svc.run(put(id, 0, "failed"))
    const second = await stepsOf(id, since(first.token, 2))
    assert.deepStrictEqual([first.steps.length, second.steps, second.hasMore], [2, [[2, "completed"]], false])
    assert.deepStrictEqual((await stepsOf(id, since(second.token))).steps, [[0, "failed"]])
  })

  it("show the steps that were open when the run was ended", async () => {
    const id = await newRun(
      "await svc.step('nap', () => new Promise((done) => setTimeout(done, 3_600_000)))",
      "standard"
    )
    const first = await eventually(
      () => stepsOf(id, since("")),
      ({ steps }) => steps.length > 0
    )
    assert.notStrictEqual(first.steps[0]?.[1], "failed")
    await svc.ask("POST", `/api/v1/executions/${id}/cancel`, { key: svc.first.key, body: {} })
    const ended = await stepsOf(id, since(first.token))
    assert.deepStrictEqual(ended.steps, [[first.steps[0]?.[0], "failed"]])
    assert.deepStrictEqual((await stepsOf(id, since(ended.token))).steps, [])
  })

  it("are all of them after a token of another history, and none after a text that is no token", async () => {
    const id = await newRecord()
    await svc.run(put(id, 0))
    const later = Buffer.from("-1 9000000000000000:9000000000000000:").toString("base64url")
    assert.lengthOf((await stepsOf(id, since(later))).steps, 1)
    for (const text of ["x", "-1", "-1 1:2", "a 1:1:", "-1 1:99999999999999999999:", "0 1:1: 1:1: 1:1:", "-1 1:1:1,"]) {
      const token = text === "x" ? text : Buffer.from(text).toString("base64url")
      const refused = await svc.ask("GET", `/api/v1/executions/${id}/steps?changed_since=${token}`, {
        key: svc.first.key
      })
      assert.deepStrictEqual([refused.status, refused.body.code], [400, "INVALID_CURSOR"], text)
    }
  })
})
