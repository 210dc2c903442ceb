/** The trigger of a workflow in steps follows the version that is deployed to `live`. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import type { Running } from "../support/InProcess.js"
import { makeKey } from "../support/keys.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let names = 0
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const ask = (method: string, target: string, body?: unknown, key = svc.first.key) =>
  svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })

const step = (what: string) => ({ name: "echo", type: "action", input: { what, got: "{{input.n}}" } })

const saved = async (trigger: object | null, what = "one"): Promise<string> => {
  const made = await ask("POST", "/workflows", {
    name: `triggered_${++names}`,
    form: "steps",
    spec: { trigger, steps: [step(what)] }
  })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}
const change = (id: string, trigger: object | null, what = "one") =>
  ask("PUT", `/workflows/${id}`, { spec: { trigger, steps: [step(what)] } })
const publish = async (id: string, body: object = {}) => {
  const published = await ask("POST", `/workflows/${id}/publish`, body)
  assert.strictEqual(published.status, 200, published.text)
  return published.body.data
}
const triggersOf = async (id: string) =>
  (await ask("GET", "/triggers?page_size=200")).body.data.filter(
    ({ managedBy }: { managedBy: { id: string } | null }) => managedBy?.id === id
  )

/** A connector with one event, which is polled. */
const listening = (slug: string, event: string) => ({
  svcConnector: 1,
  slug,
  name: slug,
  kind: "custom",
  version: "1.0.0",
  baseUrl: "https://api.example.com",
  auth: [{ id: "none", type: "none" }],
  actions: [{ name: "list", readOnly: true, request: { method: "GET", path: "/list" } }],
  events: [{ id: event, delivery: "poll", poll: { action: "list", key: "$.id" } }]
})

describe("The trigger of a flow that is saved", () => {
  const save = (trigger: object, steps: ReadonlyArray<object> = [step("x")]) =>
    ask("POST", "/workflows", { name: `triggered_${++names}`, form: "steps", spec: { trigger, steps } })
  const mistakes = async (trigger: object, steps?: ReadonlyArray<object>) => {
    const refused = await save(trigger, steps)
    assert.strictEqual(refused.status, 422, refused.text)
    return refused.body.details.map(({ code, path }: { code: string; path: string }) => `${path} ${code}`)
  }

  it("names a connector, an event of it, and a type that an event can have", async () => {
    assert.deepStrictEqual(await mistakes({ type: "event", source: "nope", event: "x" }), [
      "spec.trigger.source NOT_FOUND"
    ])
    assert.deepStrictEqual(await mistakes({ type: "event", source: "shopify", event: "order.nope" }), [
      "spec.trigger.event NOT_FOUND"
    ])
    for (const event of ["a b", "", "a..b", "*.created"])
      assert.deepStrictEqual(await mistakes({ type: "event", event }), ["spec.trigger.event INVALID_VALUE"], event)
    assert.deepStrictEqual(await mistakes({ type: "event", source: "shopify" }), ["spec.trigger.event REQUIRED"])
    assert.sameMembers(
      await mistakes({ type: "event", source: "nope", event: "x" }, [
        { name: "a", type: "action", input: { x: "{{steps.nobody.output}}" } }
      ]),
      ["spec.trigger.source NOT_FOUND", "spec.steps[0].input.x UNKNOWN_STEP"]
    )
  })

  it("warns of an event that starts nothing in the words that a trigger of its own gets", async () => {
    const id = await saved(null)
    for (const [event, isWarned] of [
      ["approval.requested", true],
      ["execution.failed", true],
      ["execution.zz", true],
      ["shopify.order.created", true],
      ["connection.expired", false],
      ["own.event", false]
    ] as const) {
      const flow = await save({ type: "event", event })
      assert.strictEqual(flow.status, 201, flow.text)
      const own = await ask("POST", "/triggers", {
        type: "event",
        name: "own",
        event: { type: event },
        routes: [{ workflowId: id }]
      })
      assert.strictEqual(own.status, 201, own.text)
      const [told] = own.body.warnings ?? []
      assert.strictEqual(told !== undefined, isWarned, event)
      const expected = told === undefined ? [] : [{ ...told, path: "spec.trigger.event" }]
      assert.deepStrictEqual(flow.body.data.warnings, expected, event)
    }
  })
})

describe("The trigger of a flow", () => {
  it("is created by publishing, starts runs of what is deployed, and keeps its URL and key over versions", async () => {
    const id = await saved({ type: "webhook" })
    assert.isEmpty(await triggersOf(id))
    const { createdTrigger } = await publish(id)
    assert.deepInclude(createdTrigger, { type: "webhook" })
    const [before] = await triggersOf(id)
    assert.deepInclude(before, { id: createdTrigger.id, status: "active", managedBy: { kind: "workflow", id } })
    assert.strictEqual(before.webhook.url, createdTrigger.url)
    const send = async (n: number) => {
      const { pathname } = new URL(createdTrigger.url)
      const got = await svc.ask("POST", pathname, {
        body: { n },
        headers: { "x-svc-access-key": createdTrigger.accessKey }
      })
      assert.strictEqual(got.status, 202, got.text)
    }
    const outputs = async () =>
      (
        await Promise.all(
          (await ask("GET", `/executions?workflow_id=${id}`)).body.data.map((run: { id: string }) =>
            ask("GET", `/executions/${run.id}`)
          )
        )
      ).map((one) => one.body.data.output)
    await send(1)
    await eventually(outputs, (all) => all.some((one) => one?.what === "one" && one.got === 1))
    // A draft changes nothing.
    await change(id, null, "two")
    assert.deepInclude((await triggersOf(id))[0], { id: before.id, status: "active" })
    await change(id, { type: "webhook" }, "two")
    assert.isNull((await publish(id)).createdTrigger)
    assert.deepStrictEqual(
      (await triggersOf(id)).map((one: { id: string }) => one.id),
      [before.id]
    )
    await send(2)
    await eventually(outputs, (all) => all.some((one) => one?.what === "two" && one.got === 2))
  })

  it("is off while the deployed version has none, and comes back as it was", async () => {
    const id = await saved({ type: "cron", cron: "0 3 * * *", timezone: "Europe/Berlin" })
    await publish(id)
    const [first] = await triggersOf(id)
    assert.deepInclude(first.schedule, { mode: "cron", cron: "0 3 * * *", timezone: "Europe/Berlin" })
    assert.isNotNull(first.stats.nextFireAt)
    await change(id, null)
    await publish(id)
    const [off] = await triggersOf(id)
    assert.deepInclude(off, { id: first.id, status: "disabled" })
    assert.isNull(off.stats.nextFireAt)
    await publish(id, { version: 1 })
    const [again] = await triggersOf(id)
    assert.deepInclude(again, { id: first.id, status: "active" })
    await change(id, { type: "cron", cron: "30 4 * * *" })
    await publish(id)
    const [moved] = await triggersOf(id)
    assert.deepInclude(moved.schedule, { cron: "30 4 * * *", timezone: "UTC" })
    // Another type is another trigger; the old one is off.
    await change(id, { type: "event", event: "connection.expired" })
    await publish(id)
    const all = await triggersOf(id)
    assert.deepStrictEqual(
      all.map(({ status, type }: { type: string; status: string }) => `${type} ${status}`).toSorted(),
      ["event active", "schedule disabled"]
    )
  })

  it("follows releases to live and their rollback", async () => {
    const id = await saved({ type: "cron", cron: "0 1 * * *" })
    await publish(id)
    const release = async () =>
      (await ask("POST", "/releases", { environment: "live", workflows: [{ workflowId: id }] })).body.data
    const first = await release()
    assert.isDefined(first?.id)
    await change(id, { type: "cron", cron: "0 2 * * *" })
    const environments = (await ask("GET", "/environments")).body.data
    const live = environments.find(({ slug }: { slug: string }) => slug === "live")
    assert.strictEqual((await ask("PUT", `/environments/${live.id}`, { autoDeploy: false })).status, 200)
    await publish(id)
    assert.strictEqual((await triggersOf(id))[0].schedule.cron, "0 1 * * *")
    const second = await release()
    assert.strictEqual((await triggersOf(id))[0].schedule.cron, "0 2 * * *")
    const back = await ask("POST", `/releases/${second.id}/rollback`, { environment: "live" })
    assert.oneOf(back.status, [200, 201], back.text)
    assert.strictEqual((await triggersOf(id))[0].schedule.cron, "0 1 * * *")
    await ask("PUT", `/environments/${live.id}`, { autoDeploy: true })
  })

  it("is changed by its flow only, but its key can be rotated; it goes with the flow", async () => {
    const id = await saved({ type: "webhook" })
    const { createdTrigger } = await publish(id)
    const at = `/triggers/${createdTrigger.id}`
    for (const [method, target, body] of [
      ["PUT", at, { name: "mine" }],
      ["DELETE", at, undefined],
      ["POST", `${at}/disable`, undefined],
      ["POST", `${at}/enable`, undefined]
    ] as const) {
      const refused = await ask(method, target, body)
      assert.deepStrictEqual(
        [refused.status, refused.body?.code, refused.body?.managedBy],
        [409, "MANAGED", { kind: "workflow", id }],
        refused.text
      )
    }
    assert.strictEqual((await ask("POST", `${at}/rotate-key`)).status, 200)
    await ask("POST", `/workflows/${id}/archive`)
    assert.strictEqual((await triggersOf(id))[0].status, "disabled")
    await publish(id)
    assert.strictEqual((await triggersOf(id))[0].status, "active")
    await ask("DELETE", `/workflows/${id}`)
    assert.isEmpty(await triggersOf(id))
    assert.strictEqual((await ask("GET", at)).status, 404)
  })

  it("that cannot be created refuses the publication as a whole", async () => {
    const id = await saved(null)
    await publish(id)
    const slug = "leaving-system"
    const system = (await ask("POST", "/connectors", listening(slug, "deal.created"))).body.data
    assert.strictEqual((await ask("POST", `/connectors/${system.id}/publish`, {})).status, 200)
    assert.strictEqual((await change(id, { type: "event", source: slug, event: "deal.created" })).status, 200)
    // Its next version has the event no more.
    await ask("PUT", `/connectors/${system.id}`, { ...listening(slug, "deal.closed"), version: "2.0.0" })
    assert.strictEqual((await ask("POST", `/connectors/${system.id}/publish`, {})).status, 200)
    const refused = await ask("POST", `/workflows/${id}/publish`, {})
    assert.strictEqual(refused.status, 422, refused.text)
    assert.deepInclude(refused.body.details[0], { path: "spec.trigger.event", code: "NOT_FOUND" })
    assert.match(refused.body.message, /^spec\.trigger\.event must be an event of the connector/)
    const seen = await ask("GET", `/workflows/${id}`)
    assert.strictEqual(seen.body.data.publishedVersion, 1)
    assert.isEmpty(await triggersOf(id))
    const wrong = await change(id, { type: "cron", cron: "every day" })
    assert.strictEqual(wrong.status, 422, wrong.text)
  })

  it("needs no right to triggers, and counts towards the plan's", async () => {
    const id = await saved({ type: "webhook" })
    const { key } = await makeKey(svc, {
      preset: "custom",
      permissions: { workflows: ["read", "update", "deploy_prod", "deploy_test"] }
    })
    const published = await ask("POST", `/workflows/${id}/publish`, {}, key)
    assert.strictEqual(published.status, 200, published.text)
    assert.lengthOf(await triggersOf(id), 1)
  })
})
