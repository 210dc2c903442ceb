/** The CRM connectors serve the unified API, each against a fake that behaves as its provider documents. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { ConnectorDefinition } from "../../src/domain/connector/Definition.js"
import { hubspot } from "../../src/domain/connectors/hubspot/HubSpot.js"
import { pipedrive } from "../../src/domain/connectors/pipedrive/Pipedrive.js"
import { salesforce } from "../../src/domain/connectors/salesforce/Salesforce.js"
import { isList, isObject, type JsonObject } from "../../src/domain/Json.js"
import { objectOf } from "../support/ConnectorCaller.js"
import type { Fake } from "../support/fakes/Fake.js"
import { hubspotFake } from "../support/fakes/hubspot.js"
import { pipedriveFake } from "../support/fakes/pipedrive.js"
import { salesforceFake } from "../support/fakes/salesforce.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { asOwnConnector } from "../support/unified/OwnConnector.js"
import { connectTo, publishDefinition } from "../support/unified/PlainCrm.js"

/** Records of an entity that are created, and what is changed of each. */
interface Row {
  readonly entity: string
  readonly record: JsonObject
  /** Absent: the entity is created only. */
  readonly change?: JsonObject
}

interface Provider {
  readonly slug: string
  readonly definition: ConnectorDefinition
  readonly start: () => Promise<Fake>
  readonly inject: { readonly name: string; readonly value: string }
  readonly key: string
  readonly rows: ReadonlyArray<Row>
  /** Entities that are read only. */
  readonly read: ReadonlyArray<string>
}

const address = { street1: "12 Mill St", city: "Ottawa", state: "ON", postalCode: "K1N", country: "CA" }
const due = "2026-11-05T00:00:00.000Z"
const bearer = { name: "Authorization", value: "Bearer {{credential.apiKey}}" }
const contactId = "003D00000000000001"
const accountId = "001D00000000000077"

const providers: ReadonlyArray<Provider> = [
  {
    slug: "own-hubspot",
    definition: hubspot.definition(),
    start: hubspotFake,
    inject: bearer,
    key: "pat-fake",
    rows: [
      { entity: "account", record: { name: "Acme", numberOfEmployees: 50 }, change: { industry: "MACHINERY" } },
      {
        entity: "contact",
        record: {
          firstName: "Ada",
          lastName: "Byron",
          accountId: "501",
          emailAddresses: [{ emailAddress: "ada@example.com" }],
          addresses: [{ ...address }]
        },
        change: { lastName: "Lovelace" }
      },
      {
        entity: "opportunity",
        record: {
          name: "Pumps",
          amount: "1500.50",
          stageId: "closedwon",
          accountId: "501",
          contactIds: ["101", "102"]
        },
        change: { amount: "1600.00" }
      },
      {
        entity: "engagement",
        record: { engagementType: "CALL", subject: "First", startTime: due, contactIds: ["101"] },
        change: { content: "Wants two" }
      },
      {
        entity: "engagement",
        record: { engagementType: "MEETING", subject: "Demo", startTime: due, endTime: due },
        change: { subject: "Second demo" }
      },
      {
        entity: "engagement",
        record: { engagementType: "EMAIL", subject: "Offer", startTime: due, direction: "OUTBOUND" },
        change: { direction: "INBOUND" }
      },
      {
        entity: "task",
        record: { subject: "Send", dueDate: due, status: "OPEN", opportunityId: "901" },
        change: { status: "CLOSED" }
      }
    ],
    read: ["lead", "stage", "user"]
  },
  {
    slug: "own-salesforce",
    definition: salesforce.definition(),
    start: salesforceFake,
    inject: bearer,
    key: "00D!session",
    rows: [
      { entity: "account", record: { name: "Acme", numberOfEmployees: 50 }, change: { industry: "Machinery" } },
      {
        entity: "contact",
        record: {
          firstName: "Ada",
          lastName: "Byron",
          accountId,
          emailAddresses: [{ emailAddress: "ada@example.com" }],
          phoneNumbers: [{ phoneNumber: "+15142546011" }],
          addresses: [{ ...address }]
        },
        change: { title: "Analyst" }
      },
      { entity: "lead", record: { lastName: "Byron", company: "Acme" }, change: { status: "Working - Contacted" } },
      {
        entity: "opportunity",
        record: { name: "Pumps", amount: "1500.5", stageId: "Closed Won", closeDate: due, accountId },
        change: { stageId: "Prospecting" }
      },
      {
        entity: "engagement",
        record: { engagementType: "CALL", subject: "First", startTime: due, contactIds: [contactId], accountId },
        change: { direction: "INBOUND" }
      },
      {
        entity: "engagement",
        record: { engagementType: "MEETING", subject: "Demo", startTime: due, endTime: due },
        change: { content: "With pumps" }
      },
      {
        entity: "task",
        record: { subject: "Send", dueDate: due, status: "OPEN", contactId },
        change: { status: "CLOSED" }
      },
      { entity: "note", record: { content: "Wants two", contactId } }
    ],
    read: ["stage", "user"]
  },
  {
    slug: "own-pipedrive",
    definition: pipedrive.definition(),
    start: pipedriveFake,
    inject: { name: "x-api-token", value: "{{credential.apiKey}}" },
    key: "token",
    rows: [
      { entity: "account", record: { name: "Acme", addresses: [{ ...address }] }, change: { name: "Acme Ltd" } },
      {
        entity: "contact",
        record: {
          firstName: "Ada",
          lastName: "Byron",
          emailAddresses: [{ emailAddress: "ada@example.com", type: "work" }],
          phoneNumbers: [{ phoneNumber: "+15142546011", type: "mobile" }]
        },
        change: { firstName: "Augusta" }
      },
      {
        entity: "opportunity",
        record: { name: "Pumps", amount: "1500.5", currency: "EUR", contactIds: ["101"], closeDate: due },
        change: { status: "WON" }
      },
      {
        entity: "engagement",
        record: { engagementType: "MEETING", subject: "Demo", startTime: due, contactIds: ["101", "102"] },
        change: { content: "With pumps" }
      },
      {
        entity: "task",
        record: { subject: "Send", dueDate: due, contactId: "101", opportunityId: "901" },
        change: { status: "CLOSED" }
      },
      { entity: "note", record: { content: "Wants two", contactId: "101", opportunityId: "901" } }
    ],
    read: ["lead", "stage", "engagement-type", "user"]
  }
]

let svc: Running
const fakes: Array<Fake> = []
beforeAll(async () => {
  svc = await startShared()
})
afterAll(async () => {
  await svc.stop()
  await Promise.all(fakes.map((fake) => fake.close()))
})

describe.each(providers)("$definition.name", ({ definition, inject, key, read, rows, slug, start }) => {
  let customer: string
  let api: Fake
  beforeAll(async () => {
    const fake = await start()
    api = fake
    fakes.push(fake)
    const made = await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: slug } })
    customer = made.body.data.id
    await publishDefinition(svc, asOwnConnector(definition, slug, inject))
    await connectTo(svc, slug, fake.origin, customer, { credential: { apiKey: key } })
  })

  const ask = (method: string, path: string, body?: unknown) =>
    svc.ask(method, `/api/v1/unified/crm/${path}`, {
      key: svc.first.key,
      headers: { "x-end-org-id": customer },
      ...(body === undefined ? {} : { body })
    })

  it.each(rows)("creates, reads, lists, changes and deletes: $entity $record.engagementType", async (row) => {
    const { change, entity, record } = row
    const made = await ask("POST", entity, record)
    assert.strictEqual(made.status, 201, made.text)
    assert.deepStrictEqual(made.body.meta.warnings, [])
    const { id } = made.body.data
    if (change === undefined) return
    const got = await ask("GET", `${entity}/${id}`)
    assert.strictEqual(got.status, 200, got.text)
    assertHas(got.body.data, record)
    assertHas(made.body.data, record)
    const list = await ask("GET", `${entity}?page_size=200&modified_after=2020-01-01`)
    assert.strictEqual(list.status, 200, list.text)
    const listed = list.body.data.find((one: JsonObject) => one["id"] === id)
    assert.deepStrictEqual(listed, got.body.data)
    const same = await ask("PATCH", `${entity}/${id}`, record)
    assert.strictEqual(same.status, 200, same.text)
    assert.deepStrictEqual(same.body.data, got.body.data, "what is the same already changes nothing")
    const changed = await ask("PATCH", `${entity}/${id}`, change)
    assert.strictEqual(changed.status, 200, changed.text)
    assertHas((await ask("GET", `${entity}/${id}`)).body.data, { ...record, ...change })
    assert.strictEqual((await ask("DELETE", `${entity}/${id}`)).status, 204)
    assert.strictEqual((await ask("GET", `${entity}/${id}`)).status, 404)
  })

  it("takes a record back as it was read, and changes nothing", async () => {
    const phoneNumbers = [{ phoneNumber: "+15142546011" }]
    const made = await ask("POST", "contact", { lastName: "Back", phoneNumbers })
    assert.strictEqual(made.status, 201, made.text)
    const { lastName, phoneNumbers: numbers } = made.body.data
    const same = await ask("PATCH", `contact/${made.body.data.id}`, { lastName, phoneNumbers: numbers })
    assert.strictEqual(same.status, 200, same.text)
    assert.strictEqual(same.body.meta.version, made.body.meta.version)
  })

  // Pipedrive answers all fields, whatever is asked for.
  if (slug !== "own-pipedrive")
    it("asks the provider for the fields that the wanted members need, and for no others", async () => {
      const asked = async (query: string) => {
        const before = api.asked.length
        const list = await ask("GET", `account?page_size=1${query}`)
        assert.strictEqual(list.status, 200, list.text)
        const texts = api.asked.slice(before).map(({ body, query: sent }) => `${[...sent.values()].join(" ")} ${body}`)
        return { list, text: texts.join(" ").toLowerCase() }
      }
      await ask("POST", "account", { name: "Narrow", industry: "MACHINERY" })
      await ask("POST", "account", { name: "Other", industry: "MACHINERY" })
      assert.include((await asked("")).text, "industry")
      const { list, text } = await asked("&fields=name&modified_after=2020-01-01")
      assert.match(text, /\bname\b/)
      assert.notInclude(text, "industry")
      assert.deepStrictEqual(Object.keys(list.body.data[0]), ["id", "name"])
      assert.isString(list.body.data[0].name)
      assert.include((await asked("&fields=name&include_raw=true")).text, "industry")
      // The provider's next page has the fields of the first.
      const cursor = encodeURIComponent(list.body.page.nextCursor)
      const other = await ask("GET", `account?modified_after=2020-01-01&fields=industry&cursor=${cursor}`)
      assert.deepStrictEqual([other.status, other.body.code], [400, "INVALID_CURSOR"], other.text)
    })

  // Only Pipedrive has tasks and engagements in one list.
  if (slug === "own-pipedrive")
    it("tells the records of entities that share their actions apart", async () => {
      const task = await ask("POST", "task", { subject: "Send the offer" })
      const meeting = await ask("POST", "engagement", { subject: "Demo", engagementType: "MEETING" })
      const [taskId, meetingId] = [task.body.data.id, meeting.body.data.id]
      const ids = async (entity: string) => {
        const list = await ask("GET", `${entity}?page_size=200`)
        return list.body.data.map(({ id }: { id: string }) => id)
      }
      const [tasks, engagements] = [await ids("task"), await ids("engagement")]
      assert.deepStrictEqual([tasks.includes(taskId), tasks.includes(meetingId)], [true, false])
      assert.deepStrictEqual([engagements.includes(taskId), engagements.includes(meetingId)], [false, true])
      for (const path of [`task/${meetingId}`, `engagement/${taskId}`]) {
        assert.strictEqual((await ask("GET", path)).status, 404)
        assert.strictEqual((await ask("PATCH", path, { subject: "Other" })).status, 404)
        assert.strictEqual((await ask("DELETE", path)).status, 404)
      }
      assert.strictEqual((await ask("GET", `task/${taskId}`)).status, 200)
    })

  // Only HubSpot requires a time of activities.
  if (slug === "own-hubspot")
    it.each([
      ["note", { content: "Wants two pumps" }],
      ["engagement", { engagementType: "CALL", subject: "First" }],
      ["engagement", { engagementType: "MEETING", subject: "Demo" }],
      ["task", { subject: "Send" }]
    ])("gives a new %s without a time that of its creation: %j", async (entity, record) => {
      const from = Date.now()
      const made = await ask("POST", entity, record)
      assert.strictEqual(made.status, 201, made.text)
      const sent = api.asked.findLast(({ method, path }) => method === "POST" && !path.endsWith("/search"))
      const time = objectOf(objectOf(sent?.json() as JsonObject)["properties"])["hs_timestamp"]
      // The clocks of two processors of a virtual machine may be some milliseconds apart.
      assert.isAtLeast(Date.parse(String(time)), from - 1_000)
      assert.isAtLeast(Date.now() + 1_000, Date.parse(String(time)))
    })

  // Only HubSpot has members that it takes when a record is created, and not later.
  if (slug === "own-hubspot")
    it("refuses to change what can be set on creation only", async () => {
      const made = await ask("POST", "task", { subject: "Send", dueDate: due, accountId: "501" })
      const changed = await ask("PATCH", `task/${made.body.data.id}`, { accountId: "502" })
      assert.strictEqual(changed.status, 422, changed.text)
      assert.deepInclude(changed.body.details[0], { path: "accountId", code: "UNSUPPORTED" })
    })

  it.each(read)("lists %s", async (entity) => {
    const list = await ask("GET", entity)
    assert.strictEqual(list.status, 200, list.text)
    assert.deepStrictEqual(list.body.meta.warnings, [])
  })
})

/** Fails the test if a record lacks a value that was written; objects of lists may have further members. */
const assertHas = (found: JsonObject, written: JsonObject): void => {
  for (const [name, value] of Object.entries(written)) {
    if (isList(value)) {
      for (const [index, item] of value.entries()) {
        const one = objectOf(found)[name]
        const other = one !== undefined && isList(one) ? one[index] : undefined
        if (isObject(item)) assertHas(objectOf(other), item)
        else assert.deepStrictEqual(other, item, name)
      }
    } else if (name !== "amount") assert.deepStrictEqual(found[name], value, name)
    else assert.strictEqual(Number(found[name]), Number(value), name)
  }
}
