/** Overrides of field maps: of the organisation and of customers, published and rolled back, during lists. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { connectTo, plainCrm, type PlainCrm, publishDefinition, startPlainCrm } from "../support/unified/PlainCrm.js"

let svc: Running
let crm: PlainCrm
let other = ""
beforeAll(async () => {
  svc = await startShared()
  crm = await startPlainCrm()
  await publishDefinition(svc, plainCrm("map-crm"))
  const made = await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Other" } })
  other = made.body.data.id
  await connectTo(svc, "map-crm", crm.url)
  await connectTo(svc, "map-crm", crm.url, other)
  for (let index = 0; index < 8; index += 1) crm.add({ stage: "gold", job: "Clerk" })
})
afterAll(async () => {
  await svc.stop()
  await crm.stop()
})

const ask = (method: string, target: string, body?: unknown) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
const contacts = (customer: string, query = "") =>
  svc.ask("GET", `/api/v1/unified/crm/contact?page_size=4${query}`, {
    key: svc.first.key,
    headers: { "x-end-org-id": customer }
  })
const place = { connector: "map-crm", entity: "contact", model: "crm.contact" }
const override = async (body: object): Promise<string> => {
  const made = await ask("POST", "/field-maps", { ...place, ...body })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}
const publish = async (id: string, body: object = {}) => {
  const published = await ask("POST", `/field-maps/${id}/publish`, body)
  assert.strictEqual(published.status, 200, published.text)
  return published.body.data.published
}

describe("An override of a field map", () => {
  let organisations = ""
  let customers = ""

  it("has no effect until it is published, then for all customers", async () => {
    organisations = await override({ fields: [{ from: "stage", to: "customFields.tier", transforms: ["UPPER"] }] })
    assert.deepStrictEqual((await contacts(other)).body.data[0].customFields, { score: 1 })
    assert.strictEqual(await publish(organisations), 1)
    for (const customer of [svc.first.customerId, other])
      assert.deepStrictEqual((await contacts(customer)).body.data[0].customFields, { score: 1, tier: "GOLD" })
  })

  it("of a customer replaces, adds and drops pairs for that customer only, and names who wrote each", async () => {
    customers = await override({
      customerId: other,
      fields: [{ from: "stage", to: "customFields.tier" }],
      dropped: ["title"]
    })
    await publish(customers)
    const [theirs, ours] = [await contacts(other), await contacts(svc.first.customerId)]
    assert.deepInclude(theirs.body.data[0], { customFields: { score: 1, tier: "gold" }, title: null })
    assert.deepInclude(ours.body.data[0], { customFields: { score: 1, tier: "GOLD" }, title: "Clerk" })
    const effective = await ask("GET", `/field-maps/effective?connector=map-crm&model=crm.contact&customer_id=${other}`)
    assert.strictEqual(effective.status, 200, effective.text)
    const { fields, missing } = effective.body.data
    const originOf = (to: string) => fields.find(({ pair }: { pair: { to: string } }) => pair.to === to)?.origin
    assert.deepStrictEqual(originOf("customFields.tier"), { level: "customer", fieldMapId: customers, version: 1 })
    assert.deepStrictEqual(originOf("firstName"), { level: "connector", fieldMapId: null, version: null })
    assert.isUndefined(originOf("title"))
    assert.include(missing, "title")
  })

  it("is written by, too", async () => {
    const made = await svc.ask("POST", "/api/v1/unified/crm/contact", {
      key: svc.first.key,
      headers: { "x-end-org-id": other },
      body: { lastName: "Tiered", customFields: { tier: "silver" } }
    })
    assert.strictEqual(made.status, 201, made.text)
    assert.strictEqual(crm.contacts.get(Number(made.body.data.id))?.stage, "silver")
    crm.contacts.delete(Number(made.body.data.id))
  })

  it("that is published during a list leaves the list as it began, and is rolled back exactly", async () => {
    const first = await contacts(other)
    const changed = await ask("PUT", `/field-maps/${customers}`, {
      fields: [{ from: "phone", to: "customFields.tier" }]
    })
    assert.strictEqual(changed.status, 200, changed.text)
    assert.strictEqual(await publish(customers, { notes: "phones" }), 2)
    const goesOn = await contacts(other, `&cursor=${first.body.page.nextCursor}`)
    assert.strictEqual(goesOn.body.data[0].customFields.tier, "gold")
    assert.isNull((await contacts(other)).body.data[0].customFields.tier)
    assert.strictEqual(await publish(customers, { number: 1 }), 1)
    assert.strictEqual((await contacts(other)).body.data[0].customFields.tier, "gold")
    const versions = await ask("GET", `/field-maps/${customers}/versions`)
    assert.deepStrictEqual(
      versions.body.data.map(({ notes, number }: { notes: string | null; number: number }) => [number, notes]),
      [
        [2, "phones"],
        [1, null]
      ]
    )
  })

  it("that is deleted ends with its lists, which say so", async () => {
    const first = await contacts(other)
    assert.strictEqual((await ask("DELETE", `/field-maps/${customers}`)).status, 204)
    const goesOn = await contacts(other, `&cursor=${first.body.page.nextCursor}`)
    assert.deepStrictEqual([goesOn.status, goesOn.body.code], [400, "INVALID_CURSOR"], goesOn.text)
    assert.strictEqual((await contacts(other)).body.data[0].customFields.tier, "GOLD")
  })

  it.each([
    [{ fields: [{ from: "a", to: "lastNam" }] }, "fields[0].to", "UNKNOWN_NAME"],
    [{ fields: [{ from: "a[*]", to: "title" }] }, "fields[0].to", "INVALID_VALUE"],
    [{ fields: [{ from: "a", to: "emailAddresses[0].emailAdress" }] }, "fields[0].to", "UNKNOWN_NAME"],
    [{ fields: [{ from: "a", to: "emailAddresses[100].type" }] }, "fields[0].to", "UNKNOWN_NAME"],
    [{ fields: [{ from: "a", to: "title", transforms: ["SHOUT"] }] }, "fields[0].transforms[0]", "UNKNOWN_NAME"],
    [{ fields: [{ from: "a", to: "title", transforms: ["ROUND(x)"] }] }, "fields[0].transforms[0]", "INVALID_VALUE"],
    [{ fields: [{ to: "title" }] }, "fields[0].from", "REQUIRED"],
    [{ fields: [{ from: "a", to: "remoteWasDeleted", enum: { x: "maybe" } }] }, 'fields[0].enum["x"]', "INVALID_VALUE"],
    [{ fields: [{ from: "a", to: "title", dateFormat: "unix" }] }, "fields[0].dateFormat", "INVALID_VALUE"],
    [
      {
        fields: [
          { from: "__proto__.a", to: "customFields.__proto__.b" },
          { from: "b", to: "customFields.__proto__.b" }
        ]
      },
      "fields[1].to",
      "DUPLICATE"
    ],
    [{ dropped: ["titel"] }, "dropped[0]", "UNKNOWN_NAME"],
    [{ model: "crm.lead" }, "model", "UNKNOWN_NAME"],
    [{ entity: "person" }, "entity", "UNKNOWN_NAME"],
    [{ connector: "map-crn" }, "connector", "NOT_FOUND"]
  ])("of %j is refused at %s", async (body, path, code) => {
    const answer = await ask("POST", "/field-maps", { ...place, customerId: other, ...body })
    assert.strictEqual(answer.status, 422, answer.text)
    assert.deepInclude(
      answer.body.details.map((one: { path: string; code: string }) => ({ path: one.path, code: one.code })),
      { path, code }
    )
  })
})
