/** A short credential changes nothing of what a workflow gets, and is in no record of its run, also after a replay. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import {
  connect,
  doneWorkflows,
  execution,
  getStep,
  publishConnector,
  publishSaved,
  requestsTo,
  run,
  saveSteps,
  scripts,
  startSharedCalls,
  stopCalls,
  svc,
  workflow
} from "../support/calls.js"
import { eventually } from "../support/eventually.js"
import { promised } from "../support/promises.js"

beforeAll(() => startSharedCalls())
afterAll(stopCalls)

/** What the provider answers: the credential occurs by chance, and as itself. */
const order = { state: "alive", year: 2024, note: "delivered 2024-05-01", nested: [{ "live-2024": true }] }
const keys = ["live", "2024"]

const ended = (id: string | undefined) =>
  eventually(
    () => execution(id),
    ({ status }) => status === "completed" || status === "failed"
  )
const logsOf = async (id: string) =>
  (await svc.ask("GET", `/api/v1/executions/${id}/logs`, { key: svc.first.key })).body.data

for (const key of keys)
  describe(`with the key ${key}`, () => {
    // The key is in no name and in no URL.
    const slug = `brief-${"ab"[keys.indexOf(key)]}`
    const name = `svc.connectors["${slug}"]`
    const hides = (record: unknown) => {
      const text = JSON.stringify(record)
      promised("no record has a credential", () => assert.notInclude(text, key))
      assert.include(text, "[redacted]")
    }

    beforeAll(async () => {
      await publishConnector(slug)
      await connect(slug, key)
      scripts.set(`/${slug}/get/1`, () => ({ headers: { "x-state": "alive 2024" }, body: order }))
    })

    it("a workflow gets the answer as it is, and its records hide the key", async () => {
      const id = await workflow(`
        const order = await ${name}.get({ id: "1" })
        console.log("order", JSON.stringify(order))
        return order`)
      const answer = await run(id)
      assert.deepStrictEqual(answer.body, order)
      const record = await ended(answer.headers["x-svc-execution-id"])
      hides(record.steps)
      hides(record.output)
      hides(await logsOf(record.id))
    })

    it("a failure has the body as it is, and its records hide the key", async () => {
      scripts.set(`/${slug}/get/wrong`, () => ({ status: 422, body: { message: "not alive in 2024", order } }))
      const caught = await workflow(`
        try { await ${name}.get({ id: "wrong" }) } catch (error) { return error.body }`)
      const answer = await run(caught)
      assert.deepStrictEqual(answer.body, { message: "not alive in 2024", order })
      hides((await ended(answer.headers["x-svc-execution-id"])).steps)
      const thrown = await run(await workflow(`await ${name}.get({ id: "wrong" })`))
      const record = await ended(thrown.headers["x-svc-execution-id"])
      assert.strictEqual(record.status, "failed")
      hides(record.error)
      hides(record.steps)
    })

    it("a run that was suspended gets the same answer, and the records after it hide the key", async () => {
      let tries = 0
      scripts.set(`/${slug}/create`, (_, nth) =>
        (tries += 1) === 1 ? { status: 429, headers: { "retry-after": "3" }, body: {} } : { body: { nth } }
      )
      const id = await workflow(
        `
        const order = await ${name}.get({ id: "1" })
        const made = await ${name}.create({ name: "x" })
        return { order, made, isSame: JSON.stringify(order) === ${JSON.stringify(JSON.stringify(order))} }`,
        "standard"
      )
      const started = await run(id)
      const waiting = await eventually(
        () => execution(started.body.executionId),
        ({ waiting }) => waiting !== null
      )
      hides(waiting.steps)
      const record = await ended(started.body.executionId)
      assert.strictEqual(record.status, "completed")
      assert.isTrue(record.output.isSame)
      hides(record.output)
      hides(record.steps)
    })

    it("a resumed run gets the same answer, and its records hide the key", async () => {
      let isBroken = true
      scripts.set(`/${slug}/create`, () => (isBroken ? { status: 400, body: {} } : { body: { done: true } }))
      const make = { name: "make", type: "action", connector: slug, action: "create", input: { name: "x" } }
      const end = { name: "end", type: "action", input: { order: "{{steps.find.output}}" }, dependsOn: ["make"] }
      const id = await publishSaved(
        await saveSteps([getStep(slug)("find", "1"), { ...make, dependsOn: ["find"] }, end])
      )
      const first = await run(id)
      isBroken = false
      const again = await svc.ask("POST", `/api/v1/executions/${first.headers["x-svc-execution-id"]}/rerun`, {
        key: svc.first.key,
        body: { mode: "resume" }
      })
      assert.strictEqual(again.status, 202, again.text)
      const record = await ended(again.body.data.id)
      assert.strictEqual(record.status, "completed", JSON.stringify(record.error))
      hides(record.output)
      hides(record.steps)
    })

    it("a further attempt gets the same answer, and the records after it hide the key", async () => {
      let tries = 0
      scripts.set(`/${slug}/create`, (_, nth) => ((tries += 1) <= 3 ? { status: 503, body: {} } : { body: { nth } }))
      const { id } = await doneWorkflows("POST", "", {
        name: `replayed_${key}`,
        form: "code",
        tier: "standard",
        retry: { enabled: true, initialMs: 50, maxAttempts: 2 },
        code: `export default async () => {
          const order = await ${name}.get({ id: "1" })
          const made = await ${name}.create({ name: "x" })
          return { order, made, isSame: JSON.stringify(order) === ${JSON.stringify(JSON.stringify(order))} }
        }`
      })
      await doneWorkflows("POST", `/${id}/publish`, {})
      const asked = requestsTo(`/${slug}/get/1`).length
      const started = await run(id)
      const record = await ended(started.body.executionId)
      assert.deepStrictEqual([record.status, record.attempt], ["completed", 2], JSON.stringify(record.error))
      assert.lengthOf(requestsTo(`/${slug}/get/1`), asked + 1)
      assert.isTrue(record.output.isSame)
      hides(record.output)
      hides(record.steps)
    })
  })
