import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { findAction } from "../../../src/domain/connector/Definition.js"
import { pageItems } from "../../../src/domain/connector/request/Pagination.js"
import { valueAt } from "../../../src/domain/expression/Path.js"
import { readRateHeaders } from "../../../src/domain/connector/request/RateReading.js"
import { hubspot as builtIn } from "../../../src/domain/connectors/hubspot/HubSpot.js"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import {
  type Caller,
  callEveryAction,
  type Calls,
  hasItems,
  hasMembers,
  makeCaller,
  objectOf
} from "../../support/ConnectorCaller.js"
import { makeEntityCaller } from "../../support/EntityCaller.js"
import { hubspotFake, type HubspotFake } from "../../support/fakes/hubspot.js"

const hubspot = builtIn.definition()

let api: HubspotFake
let acme: Caller

const caller = (accessToken: string) =>
  makeCaller(hubspot, api.origin, { method: "token", credential: { accessToken } })

beforeAll(async () => {
  api = await hubspotFake()
  acme = caller("pat-fake")
})
afterAll(() => api.close())

const timestamp = "2026-11-01T09:00:00Z"
const entity = (name: string) => makeEntityCaller(hubspot, acme, name)
const propertiesOf = (result: Json) => objectOf(objectOf(result)["properties"])

/** The calls of the actions of one object, with a record that is there, and the properties of a new one. */
const callsOf = (
  singular: string,
  plural: string,
  kind: string,
  properties: JsonObject,
  links: JsonObject = {}
): Calls => {
  const { id } = api.add(kind, {})
  const names = Object.keys(properties)
  const isNull = (result: Json) => assert.isNull(result)
  return {
    [`list${plural}`]: [{ limit: 1, properties: names, associations: ["companies"] }, hasItems("results", 1)],
    [`search${plural}`]: [
      {
        filterGroups: [{ filters: [{ propertyName: "hs_object_id", operator: "EQ", value: id }] }],
        sorts: [{ propertyName: "hs_object_id", direction: "ASCENDING" }],
        properties: names
      },
      hasItems("results", 1)
    ],
    [`list${plural}Since`]: [{ modifiedAfter: "0", properties: names }, hasItems("results", 1)],
    [`get${singular}`]: [{ id, properties: names }, hasMembers({ id, archived: false })],
    [`create${singular}`]: [{ properties, ...links }, (made) => assert.deepInclude(propertiesOf(made), properties)],
    [`update${singular}`]: [{ id, properties }, (changed) => assert.deepInclude(propertiesOf(changed), properties)],
    [`delete${singular}`]: [{ id }, isNull]
  }
}

describe("HubSpot", () => {
  it("answers every action", () =>
    callEveryAction(hubspot, acme, {
      getAccount: [{}, hasMembers({ portalId: 4711 })],
      listOwners: [{}, hasItems("results", 3)],
      getOwner: [{ ownerId: "61" }, hasMembers({ firstName: "Grace" })],
      listDealPipelines: [{}, hasItems("results", 2)],
      listProperties: [{ objectType: "contacts" }, hasItems("results", 3)],
      ...callsOf("Contact", "Contacts", "contacts", { firstname: "Ada" }),
      ...callsOf("Company", "Companies", "companies", { name: "Acme" }),
      ...callsOf("Deal", "Deals", "deals", { dealname: "Pumps" }),
      ...callsOf(
        "Lead",
        "Leads",
        "leads",
        { hs_lead_name: "Ada" },
        {
          contacts: [{ to: { id: "1" }, types: [{ associationCategory: "HUBSPOT_DEFINED", associationTypeId: 578 }] }]
        }
      ),
      ...callsOf("Call", "Calls", "calls", { hs_call_title: "First", hs_timestamp: timestamp }),
      ...callsOf("Meeting", "Meetings", "meetings", { hs_meeting_title: "Demo", hs_timestamp: timestamp }),
      ...callsOf("Email", "Emails", "emails", { hs_email_subject: "Offer", hs_timestamp: timestamp }),
      ...callsOf("Note", "Notes", "notes", { hs_note_body: "Hi", hs_timestamp: timestamp }),
      ...callsOf("Task", "Tasks", "tasks", { hs_task_subject: "Send", hs_timestamp: timestamp })
    }))

  it("follows HubSpot's cursor to the last page", async () => {
    for (let at = 0; at < 5; at += 1) api.add("companies", { name: `Page ${at}` })
    const pages = await acme.pages("listCompanies", { limit: 2 })
    const ids = pages.flat().map((one) => objectOf(one)["id"])
    assert.lengthOf(new Set(ids), ids.length)
    assert.lengthOf(ids, api.stored("companies").filter(({ archived }) => !archived).length)
  })

  it("lists beyond the 10,000 records that HubSpot finds by one search", async () => {
    for (let at = 0; at < 10_150; at += 1) api.add("deals", { dealname: `Deal ${at}` })
    const refused = await acme.failure("searchDeals", { limit: 200, after: "10000" })
    assert.deepInclude(refused, { status: 400, code: "VALIDATION_ERROR" })
    const seen = new Set<Json | undefined>()
    let afterId = "0"
    for (let page = 0; page < 60; page += 1) {
      const { results } = objectOf(await acme.result("listDealsSince", { limit: 200, afterId }))
      const ids = (results as ReadonlyArray<JsonObject>).map(({ id }) => id)
      if (ids.length === 0) break
      for (const id of ids) seen.add(id)
      afterId = String(ids.at(-1))
    }
    assert.isAtLeast(seen.size, 10_150)
  })

  it("tells what HubSpot refuses, with its category and words", async () => {
    assert.deepInclude(await acme.failure("createContact", { properties: { createdate: "2026-01-01" } }), {
      category: "provider",
      status: 400,
      code: "VALIDATION_ERROR",
      message: "Property values were not valid: createdate is a read only property"
    })
    assert.deepInclude(await acme.failure("getDeal", { id: "9" }), { status: 404, code: "OBJECT_NOT_FOUND" })
    await acme.result("createContact", { properties: { email: "twice@example.com" } })
    const twice = await acme.failure("createContact", { properties: { email: "twice@example.com" } })
    assert.deepInclude(twice, { category: "provider", status: 409, code: "CONFLICT" })
    const stranger = await caller("no").failure("getAccount")
    assert.deepInclude(stranger, { category: "auth", status: 401, code: "INVALID_AUTHENTICATION" })
  })

  it("reads what is left of the ten seconds, and waits where HubSpot says so", async () => {
    const { headers } = await acme.answer("getAccount")
    assert.deepInclude(readRateHeaders(hubspot, headers, 0), { limit: 100, remaining: 98 })
    api.plan({ status: 429, headers: { "retry-after": "10" }, json: { status: "error", category: "RATE_LIMITS" } })
    const limited = await acme.failure("getAccount")
    assert.deepInclude(limited, { category: "transient", retryAfterMillis: 10_000, code: "RATE_LIMITS" })
  })

  it("has in its records what events are found by", async () => {
    api.add("companies", {})
    api.add("contacts", {})
    api.add("deals", {})
    for (const { id, poll } of hubspot.events) {
      const action = findAction(hubspot, poll?.action ?? "") ?? assert.fail(id)
      const [item] = pageItems(action, await acme.result(action.name))
      assert.isDefined(valueAt(item, poll?.key ?? ""), id)
      assert.isNotNaN(Date.parse(String(valueAt(item, poll?.changedAt ?? ""))), id)
    }
  })
})

describe("HubSpot's records as common ones", () => {
  it("are contacts, written and read again, and cleared by the empty text", async () => {
    const contacts = entity("contact")
    const given = {
      firstName: "Ada",
      lastName: "Byron",
      title: "Analyst",
      accountId: "77",
      ownerId: "61",
      emailAddresses: [{ emailAddress: "ada@example.com" }],
      phoneNumbers: [
        { phoneNumber: "+15142546011", type: "work" },
        { phoneNumber: "+15142546012", type: "mobile" }
      ],
      addresses: [{ street1: "12 Mill St", city: "Ottawa", state: "ON", postalCode: "K1N", country: "CA" }]
    }
    const made = await contacts.create(given)
    assert.deepInclude(made.record, given)
    assert.deepStrictEqual(made.warnings, [])
    assert.include(String(made.record["url"]), String(made.record["id"]))
    const changed = await contacts.update(String(made.record["id"]), { title: null, lastName: "Lovelace" })
    assert.deepStrictEqual(api.asked.at(-2)?.json(), { properties: { jobtitle: "", lastname: "Lovelace" } })
    assert.notProperty(changed.record, "title")
    assert.deepInclude(changed.record, { lastName: "Lovelace", firstName: "Ada" })
    await contacts.remove(String(made.record["id"]))
    assert.isTrue(api.stored("contacts").find(({ id }) => id === made.record["id"])?.archived)
  })

  it("are the contacts of the common data model", async () => {
    const contacts = makeEntityCaller(hubspot, acme, "contact", "cdm")
    const given = {
      email: "bo@example.com",
      firstName: "Bo",
      lastName: "Ek",
      company: "Acme",
      phone: "+4912345678",
      addresses: [{ line1: "Weg 1", city: "Ulm", state: "BW", postalCode: "89073", country: "DE" }]
    }
    assert.deepInclude((await contacts.create(given)).record, given)
  })

  it("are companies, of which HubSpot finds those that changed", async () => {
    const companies = entity("company")
    const made = await companies.create({ name: "Acme", numberOfEmployees: 50, website: "https://acme.example" })
    assert.deepInclude(made.record, { name: "Acme", numberOfEmployees: 50 })
    const since = String(made.record["remoteUpdatedAt"])
    const changed = await companies.list({ modifiedAfter: since })
    assert.deepStrictEqual(
      changed.map(({ record }) => record["id"]),
      [made.record["id"]]
    )
  })

  it("are deals with their companies and contacts; the stage decides the status", async () => {
    const deals = entity("deal")
    const given = {
      name: "Pumps",
      amount: "1500.00",
      currency: "EUR",
      stageId: "closedwon",
      pipelineId: "default",
      closeDate: "2026-12-01T00:00:00.000Z",
      accountId: "501",
      contactIds: ["101", "102"]
    }
    const made = await deals.create(given)
    assert.deepInclude(made.record, { ...given, status: "WON" })
    const open = await deals.update(String(made.record["id"]), { stageId: "qualifiedtobuy" })
    assert.deepInclude(open.record, { status: "OPEN", accountId: "501" })
    const bare = await deals.create({ name: "Without anybody", stageId: "closedlost" })
    assert.strictEqual(bare.record["status"], "LOST")
    assert.notProperty(bare.record, "accountId")
  })

  it.each([
    ["call", { engagementType: "CALL", direction: "INBOUND" }],
    ["meeting", { engagementType: "MEETING", endTime: "2026-11-01T10:00:00.000Z" }],
    ["email", { engagementType: "EMAIL", direction: "OUTBOUND" }]
  ])("are engagements: %s", async (name, more) => {
    const given = {
      subject: "Pumps",
      content: "Two of them",
      startTime: "2026-11-01T09:00:00.000Z",
      ownerId: "61",
      accountId: "501",
      contactIds: ["101"],
      ...more
    }
    const engagements = entity(name)
    const made = await engagements.create(given)
    assert.deepInclude(made.record, given)
    assert.deepInclude((await engagements.list()).at(-1)?.record, given)
  })

  it("are tasks, whose states HubSpot has more of", async () => {
    const tasks = entity("task")
    const given = {
      subject: "Send the offer",
      dueDate: "2026-11-05T09:00:00.000Z",
      status: "OPEN",
      accountId: "501",
      contactId: "101",
      opportunityId: "901"
    }
    const made = await tasks.create(given)
    assert.deepInclude(made.record, given)
    const id = String(made.record["id"])
    assert.strictEqual((await tasks.update(id, { status: "CLOSED" })).record["status"], "CLOSED")
    const { id: waiting } = api.add("tasks", { hs_task_status: "WAITING", hs_timestamp: timestamp })
    assert.strictEqual((await tasks.get(waiting)).record["status"], "OPEN")
  })

  it("are leads with the names of their contacts", async () => {
    const { id } = api.add("leads", {
      hs_lead_name: "Pumps",
      hs_associated_contact_lastname: "Byron",
      hs_pipeline_stage: "new-stage-id"
    })
    const leads = entity("lead")
    assert.deepInclude((await leads.get(id)).record, { lastName: "Byron", title: "Pumps", status: "new-stage-id" })
    assert.deepInclude((await leads.update(id, { status: "qualified-stage-id" })).record, {
      status: "qualified-stage-id"
    })
  })

  it("are the stages of all pipelines, and owners", async () => {
    const stages = await entity("stage").list()
    assert.deepStrictEqual(
      stages.map(({ record }) => [record["id"], record["order"], record["probability"]]),
      [
        ["qualifiedtobuy", 0, 0],
        ["closedwon", 1, 0.25],
        ["closedlost", 2, 0.5],
        ["due", 0, 0],
        ["renewed", 1, 0.25]
      ]
    )
    const owners = await entity("owner").list()
    assert.deepInclude(owners[0]?.record, { name: "Grace Hopper 61", email: "owner61@acme.example", isActive: true })
  })
})
