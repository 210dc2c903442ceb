/**
 * A workflow's version goes on with the maps of the organisation and the definitions of connectors that it was published with; a
 * run goes on with the customer's map that it began with. Decisions: 0061.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { connectTo, plainCrm, type PlainCrm, publishDefinition, startPlainCrm } from "../support/unified/PlainCrm.js"

const slug = "frozen-crm"
const place = { connector: slug, entity: "contact", model: "crm.contact" }
const code = `export default async (ctx) => {
  const contact = svc.unified.crm.contact
  const tierOf = ({ customFields, title }) => [customFields?.tier ?? null, title]
  const first = await contact.get("1")
  const pages = []
  for await (const page of contact.pages({ pageSize: 3 })) pages.push(tierOf(page[0]))
  return { first: tierOf(first.data), pages, last: tierOf((await contact.get("1")).data) }
}`

let crm: PlainCrm
let names = 0
const running: Array<Running> = []

/** An organisation with the connector, a workflow, and two customers. */
const organisation = async () => {
  const svc = await startShared()
  running.push(svc)
  const ask = (method: string, target: string, body?: unknown) =>
    svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
  const done = async (...args: Parameters<typeof ask>) => {
    const answer = await ask(...args)
    assert.oneOf(answer.status, [200, 201, 204], answer.text)
    return answer.body?.data
  }
  await publishDefinition(svc, plainCrm(slug))
  const customers = [svc.first.customerId, (await done("POST", "/customers", { name: "Other" })).id as string] as const
  for (const customer of customers) await connectTo(svc, slug, crm.url, customer)
  const workflow = async () => {
    const { id } = await done("POST", "/workflows", { name: `frozen_${(names += 1)}`, form: "code", code })
    await done("POST", `/workflows/${id}/publish`, {})
    return id as string
  }
  return {
    svc,
    done,
    customers,
    workflow,
    republish: async (id: string) => (await done("POST", `/workflows/${id}/publish`, {})).version as number,
    override: async (tier: string, customerId: string | null = null): Promise<string> => {
      const { id } = await done("POST", "/field-maps", { ...place, customerId, fields: [field(tier)] })
      await done("POST", `/field-maps/${id}/publish`, {})
      return id
    },
    change: async (id: string, tier: string) => {
      await done("PUT", `/field-maps/${id}`, { fields: [field(tier)] })
      await done("POST", `/field-maps/${id}/publish`, {})
    },
    rollBack: (id: string, number: number) => done("POST", `/field-maps/${id}/publish`, { number }),
    run: async (id: string, customer: string = customers[0]) => {
      const answer = await svc.ask("POST", `/api/v1/workflows/${id}/execute`, {
        key: svc.first.key,
        headers: { "x-end-org-id": customer },
        body: { input: {} }
      })
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body
    },
    rest: async (customer: string = customers[0]) => {
      const { body } = await svc.ask("GET", "/api/v1/unified/crm/contact/1", {
        key: svc.first.key,
        headers: { "x-end-org-id": customer }
      })
      return body.data.customFields.tier ?? null
    }
  }
}

/** A pair that reads the same tier of every contact. */
const field = (tier: string) => ({ to: "customFields.tier", from: "stage", default: tier })
/** What a run gives whose every record has this tier. */
const all = (tier: string | null, title = "Clerk") => ({
  first: [tier, title],
  pages: [
    [tier, title],
    [tier, title]
  ],
  last: [tier, title]
})

/** Does something when the next run has begun, and before its second call. */
const during = (act: () => Promise<unknown>) => {
  crm.gate.answering = async () => {
    crm.gate.answering = undefined
    await act()
  }
}

beforeAll(async () => {
  crm = await startPlainCrm()
  for (let index = 0; index < 5; index += 1) crm.add({ job: "Clerk" })
})
afterAll(async () => {
  // They share a service.
  await running[0]?.stop()
  await crm.stop()
})

describe("A published workflow", () => {
  it("reads by the organisation's map that it was published with, until it is published again", async () => {
    const { change, override, republish, rest, rollBack, run, workflow } = await organisation()
    const before = await workflow()
    const map = await override("gold")
    assert.deepStrictEqual([await run(before), await rest()], [all(null), "gold"])
    assert.strictEqual(await republish(before), 2)
    assert.deepStrictEqual(await run(before), all("gold"))
    await change(map, "silver")
    assert.deepStrictEqual([await run(before), await rest()], [all("gold"), "silver"])
    during(() => republish(before))
    assert.deepStrictEqual(await run(before), all("gold"), "a run goes on with its version")
    assert.deepStrictEqual(await run(before), all("silver"))
    await rollBack(map, 1)
    assert.deepStrictEqual([await run(before), await rest()], [all("silver"), "gold"])
    assert.strictEqual(await republish(before), 4)
    assert.deepStrictEqual(await run(before), all("gold"))
    assert.strictEqual(await republish(before), 4, "nothing has changed since")
  })

  it("of two organisations with two customers has the map of each, also where one changes during a run", async () => {
    const [one, other] = [await organisation(), await organisation()]
    await one.override("one")
    await other.override("other")
    const own = await one.override("own", one.customers[1])
    const [first, second] = [await one.workflow(), await other.workflow()]
    const both = async () => [
      await one.run(first),
      await one.run(first, one.customers[1]),
      await other.run(second),
      await other.run(second, other.customers[1])
    ]
    assert.deepStrictEqual(await both(), [all("one"), all("own"), all("other"), all("other")])
    during(() => one.change(own, "newer"))
    assert.deepStrictEqual(await one.run(first, one.customers[1]), all("own"), "a run keeps the customer's map")
    assert.deepStrictEqual(await both(), [all("one"), all("newer"), all("other"), all("other")])
    during(() => one.rollBack(own, 1))
    assert.deepStrictEqual(await one.run(first, one.customers[1]), all("newer"))
    assert.deepStrictEqual(await both(), [all("one"), all("own"), all("other"), all("other")])
    await one.done("DELETE", `/field-maps/${own}`)
    assert.deepStrictEqual(await one.run(first, one.customers[1]), all("one"))
  })

  it("keeps the customer's map of a run however often another one is published meanwhile", async () => {
    const { change, customers, override, rollBack, run, workflow } = await organisation()
    const map = await override("first", customers[0])
    const id = await workflow()
    during(async () => {
      await change(map, "second")
      for (let n = 0; n < 205; n++) await rollBack(map, 2)
    })
    assert.deepStrictEqual(await run(id), all("first"))
    assert.deepStrictEqual(await run(id), all("second"))
  })

  it("calls by the connector's definition that it was published with", async () => {
    const { republish, run, svc, workflow } = await organisation()
    const id = await workflow()
    const next = plainCrm(slug)
    const [entity] = next.entities
    const unifiedFields = (entity?.unifiedFields ?? []).map((pair) =>
      pair.to === "title" ? { ...pair, enum: { Clerk: "CLERK" } } : pair
    )
    during(() =>
      publishDefinition(svc, { ...next, version: "1.1.0", entities: [{ ...entity, unifiedFields }] } as never)
    )
    assert.deepStrictEqual(await run(id), all(null))
    assert.deepStrictEqual(await run(id), all(null))
    assert.strictEqual(await republish(id), 2)
    assert.deepStrictEqual(await run(id), all(null, "CLERK"))
  })

  it("says so where its map was deleted, and that it is to be published again", async () => {
    const { done, override, republish, run, svc, workflow } = await organisation()
    const map = await override("gone")
    const id = await workflow()
    await done("DELETE", `/field-maps/${map}`)
    const failed = await svc.ask("POST", `/api/v1/workflows/${id}/execute`, {
      key: svc.first.key,
      headers: { "x-end-org-id": svc.first.customerId },
      body: { input: {} }
    })
    assert.strictEqual(failed.body.error?.code, "FIELD_MAP_GONE", failed.text)
    assert.include(failed.text, "publish the workflow again")
    await republish(id)
    assert.deepStrictEqual(await run(id), all(null))
  })

  it("shows the revision with its bindings", async () => {
    const { done, override, workflow } = await organisation()
    await override("a")
    const { bindings } = await done("GET", `/workflows/${await workflow()}`)
    assert.deepStrictEqual(
      bindings.map(({ action, connector, version }: Record<string, unknown>) => [connector, action, version]),
      [
        ["unified", "crm.contact.get", 2],
        ["unified", "crm.contact.list", 2]
      ]
    )
  })
})
