/** A trigger is disabled when the last of its workflows is archived or deleted, in any order, and not enabled before. */
import { SqlClient } from "@effect/sql"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import endedRoutes from "../../migrations/0032_ended_routes.js"
import { keepDomainEvents } from "../support/keptEvents.js"
import { WriterSql } from "../support/Sql.js"
import { startCalls, stopCalls, svc, workflow } from "../support/calls.js"

let flow: string
beforeAll(async () => {
  await startCalls()
  flow = await workflow("return 1")
  await svc.run(keepDomainEvents)
})
afterAll(() => stopCalls())

const ask = (method: string, path: string, body?: unknown) =>
  svc.ask(method, `/api/v1/triggers${path}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
const create = (body: object) => ask("POST", "", { name: "A trigger", ...body })
const made = async (body: object) => {
  const answer = await create(body)
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body.data
}
const daily = { mode: "cron", cron: "0 9 * * *" }

describe("triggers of an archived or deleted workflow", () => {
  it("are disabled if all their routes lead to it", async () => {
    const other = await workflow("return 2")
    const alone = await made({
      type: "schedule",
      schedule: daily,
      routes: [{ workflowId: other }, { workflowId: other }]
    })
    const shared = await made({ type: "webhook", routes: [{ workflowId: other }, { workflowId: flow }] })
    const archived = await svc.ask("POST", `/api/v1/workflows/${other}/archive`, { key: svc.first.key })
    assert.strictEqual(archived.status, 200, archived.text)
    const { body } = await ask("GET", `/${alone.id}`)
    assert.deepStrictEqual([body.data.status, body.data.stats.nextFireAt], ["disabled", null])
    assert.strictEqual((await ask("GET", `/${shared.id}`)).body.data.status, "active")
    const again = await create({ type: "webhook", routes: [{ workflowId: other }] })
    assert.strictEqual(again.body.details[0].path, "routes[0].workflowId")
    const told = await svc.run(
      Effect.flatMap(
        WriterSql,
        (sql) => sql`SELECT 1 FROM kept_domain_events WHERE type = 'trigger.disabled' AND subject = ${alone.id}`
      )
    )
    assert.lengthOf(told, 1)
  })

  describe("of several", () => {
    const status = async (id: string) => {
      const { stats, status: found } = (await ask("GET", `/${id}`)).body.data
      return [found, stats.nextFireAt === null]
    }
    const end = (how: "archive" | "delete", id: string) =>
      how === "archive"
        ? svc.ask("POST", `/api/v1/workflows/${id}/archive`, { key: svc.first.key })
        : svc.ask("DELETE", `/api/v1/workflows/${id}`, { key: svc.first.key })
    const routed = async () => {
      const workflows = [await workflow("return 1"), await workflow("return 2")] as const
      const routes = workflows.map((workflowId) => ({ workflowId }))
      return { workflows, routes, id: (await made({ type: "schedule", schedule: daily, routes })).id }
    }
    const orders = [
      ["archive", "archive"],
      ["archive", "delete"],
      ["delete", "archive"],
      ["delete", "delete"]
    ] as const
    it.each(orders)("are disabled by the last of them: %s, then %s", async (one, two) => {
      const { id, workflows } = await routed()
      assert.isBelow((await end(one, workflows[0])).status, 300)
      assert.deepStrictEqual(await status(id), ["active", false])
      assert.isBelow((await end(two, workflows[1])).status, 300)
      assert.deepStrictEqual(await status(id), ["disabled", true])
      const told = await svc.run(
        Effect.flatMap(
          WriterSql,
          (sql) => sql<{ reason: string }>`SELECT payload->>'reason' AS reason FROM kept_domain_events
            WHERE type = 'trigger.disabled' AND subject = ${id}`
        )
      )
      assert.deepStrictEqual(
        told.map(({ reason }) => reason),
        [two === "archive" ? "workflow_archived" : "workflow_deleted"]
      )
    })

    it("are disabled also if all end at the same time, again and again", async () => {
      for (let n = 0; n < 5; n += 1) {
        const { id, workflows } = await routed()
        const ends = await Promise.all([
          end("archive", workflows[0]),
          end(n % 2 === 0 ? "archive" : "delete", workflows[1])
        ])
        for (const { status: code } of ends) assert.isBelow(code, 300)
        assert.deepStrictEqual(await status(id), ["disabled", true])
      }
    })

    it("are neither enabled nor left active by an edit while none can run, and enabled when one can", async () => {
      const { id, routes, workflows } = await routed()
      await end("archive", workflows[0])
      const [stored] = (await ask("GET", `/${id}`)).body.data.routes
      const edited = await ask("PUT", `/${id}`, { routes: [stored] })
      assert.deepStrictEqual([edited.status, edited.body.details[0].path], [422, "routes"])
      await end("archive", workflows[1])
      const enabled = await ask("POST", `/${id}/enable`)
      assert.deepStrictEqual([enabled.status, enabled.body.code], [409, "INVALID_STATE"])
      await svc.ask("POST", `/api/v1/workflows/${workflows[1]}/publish`, { key: svc.first.key, body: {} })
      assert.strictEqual((await ask("POST", `/${id}/enable`)).status, 200)
      assert.deepStrictEqual(await status(id), ["active", false])
      assert.strictEqual((await ask("PUT", `/${id}`, { routes: [routes[1]] })).status, 200)
    })

    it("are never left active by a workflow that ends while they are made", async () => {
      for (let n = 0; n < 5; n += 1) {
        const ending = await workflow("return 1")
        const [answer] = await Promise.all([
          create({ type: "webhook", routes: [{ workflowId: ending }] }),
          end("archive", ending)
        ])
        if (answer.status === 201) assert.deepStrictEqual((await status(answer.body.data.id))[0], "disabled")
        else assert.strictEqual(answer.body.details[0].path, "routes[0].workflowId")
      }
    })

    it("that a release before left active are disabled by its upgrade", async () => {
      const { id, workflows } = await routed()
      const kept = await routed()
      await end("archive", workflows[0])
      await end("delete", workflows[1])
      await end("delete", kept.workflows[1])
      await svc.run(
        Effect.flatMap(WriterSql, (sql) =>
          Effect.gen(function* () {
            yield* sql`UPDATE triggers SET status = 'active' WHERE id = ${id}`
            yield* sql`UPDATE trigger_states SET next_fire_at = now() + interval '1 hour' WHERE trigger_id = ${id}`
            yield* Effect.provideService(endedRoutes, SqlClient.SqlClient, sql)
          })
        )
      )
      const [before] = await svc.run(
        Effect.flatMap(
          WriterSql,
          (sql) => sql<{ status: string; next: unknown }>`SELECT t.status, s.next_fire_at AS next
            FROM triggers t JOIN trigger_states s ON s.trigger_id = t.id WHERE t.id = ${id}`
        )
      )
      assert.deepStrictEqual(before, { status: "disabled", next: null })
      assert.deepStrictEqual(await status(kept.id), ["active", false])
    })
  })
})
