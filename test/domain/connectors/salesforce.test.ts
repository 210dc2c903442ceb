import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { findAction } from "../../../src/domain/connector/Definition.js"
import { pageItems } from "../../../src/domain/connector/request/Pagination.js"
import { valueAt } from "../../../src/domain/expression/Path.js"
import { salesforce as builtIn } from "../../../src/domain/connectors/salesforce/Salesforce.js"
import type { JsonObject } from "../../../src/domain/Json.js"
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
import { salesforceFake, type SalesforceFake } from "../../support/fakes/salesforce.js"

const salesforce = builtIn.definition()

let api: SalesforceFake
let acme: Caller

const caller = (accessToken: string) =>
  makeCaller(salesforce, api.origin, {
    method: "oauth",
    credential: { accessToken },
    config: { instanceUrl: api.origin }
  })

beforeAll(async () => {
  api = await salesforceFake()
  acme = caller("00D!session")
})
afterAll(() => api.close())

const entity = (name: string) => makeEntityCaller(salesforce, acme, name)
const isNull = (result: unknown) => assert.isNull(result)

const callsOf = (object: string, plural: string, fields: JsonObject): Calls => {
  const id = String(api.add(object, fields)["Id"])
  return {
    [`list${plural}`]: [{ fields: "Id", batchSize: 200 }, hasItems("records", 1)],
    [`get${object}`]: [{ id, fields: "Id" }, hasMembers({ Id: id })],
    [`create${object}`]: [{ fields }, hasMembers({ success: true })],
    [`update${object}`]: [{ id, fields }, isNull],
    [`delete${object}`]: [{ id }, isNull]
  }
}

describe("Salesforce", () => {
  it("answers every action", () => {
    const note = { Title: "Note", Body: "Hi", ParentId: "006D00000000000001" }
    const { listNotes: _list, updateNote: _update, ...notes } = callsOf("Note", "Notes", note)
    const task = String(api.add("Task", { Subject: "Related", WhoId: "003D00000000000001" })["Id"])
    const event = String(api.add("Event", { Subject: "Related" })["Id"])
    const user = String(api.rows("User")[0]?.["Id"])
    return callEveryAction(salesforce, acme, {
      getOrganization: [{}, hasMembers({ Name: "Acme" })],
      query: [{ q: "SELECT Id FROM User" }, hasItems("records", 1)],
      describeObject: [{ object: "Contact" }, hasItems("fields", 3)],
      ...callsOf("Account", "Accounts", { Name: "Acme" }),
      ...callsOf("Contact", "Contacts", { LastName: "Byron" }),
      ...callsOf("Lead", "Leads", { LastName: "Byron", Company: "Acme" }),
      ...callsOf("Opportunity", "Opportunities", { Name: "P", StageName: "Prospecting", CloseDate: "2026-12-01" }),
      ...callsOf("Event", "Events", { StartDateTime: "2026-11-03T09:00:00Z", EndDateTime: "2026-11-03T10:00:00Z" }),
      listEvents: [{ fields: "Id" }, hasItems("records", 2)],
      ...callsOf("Task", "Tasks", { Subject: "Send" }),
      listTasks: [{ fields: "Id", subtype: "Call" }, hasItems("records", 0)],
      getTaskWithRelated: [
        { id: task },
        (result) => assert.deepInclude(firstOf(result)["Who"], { Id: "003D00000000000001" })
      ],
      getEventWithRelated: [{ id: event }, (result) => assert.isNull(firstOf(result)["Who"])],
      ...notes,
      listUsers: [{}, hasItems("records", 1)],
      getUser: [{ id: user }, hasMembers({ Name: "Grace Hopper" })],
      listOpportunityStages: [{}, hasItems("records", 4)],
      getOpportunityStage: [{ name: "Won't close" }, hasMembers({ SortOrder: 2 })]
    })
  })

  const firstOf = (result: unknown) => objectOf((result as { records: ReadonlyArray<JsonObject> }).records[0])

  it("follows the URL of the next records, in pages of any size from 200", async () => {
    for (let at = 0; at < 450; at += 1) api.add("Account", { Name: `Account ${at}` })
    const pages = await acme.pages("listAccounts", { fields: "Id,Name", batchSize: 200 })
    assert.deepStrictEqual(
      pages.map((page) => page.length),
      [200, 200, api.rows("Account").filter(({ IsDeleted }) => IsDeleted !== true).length - 400]
    )
    const ids = pages.flat().map((row) => objectOf(row)["Id"])
    assert.lengthOf(new Set(ids), ids.length)
  })

  it("keeps a text of a query in its quotes", async () => {
    const none = await acme.result("getOpportunityStage", { name: "x' OR ApiName != '" })
    assert.isNull(none)
  })

  it("tells what Salesforce refuses, with its code and words", async () => {
    assert.deepInclude(await acme.failure("createOpportunity", { fields: { Name: "P" } }), {
      category: "provider",
      status: 400,
      code: "REQUIRED_FIELD_MISSING",
      message: "Required fields are missing: [StageName, CloseDate]"
    })
    assert.deepInclude(await acme.failure("getContact", { id: "003D00000000000000" }), {
      status: 404,
      code: "NOT_FOUND"
    })
    const ended = await caller("00D!ended").failure("getOrganization")
    assert.deepInclude(ended, { category: "auth", status: 401, code: "INVALID_SESSION_ID" })
    api.plan({ status: 403, json: [{ errorCode: "REQUEST_LIMIT_EXCEEDED", message: "TotalRequests Limit exceeded." }] })
    assert.deepInclude(await acme.failure("getOrganization"), { category: "transient", status: 403 })
  })

  it("saves a duplicate only where the caller allows it", async () => {
    const fields = { LastName: "Twice", Email: "twice@example.com" }
    await acme.result("createContact", { fields })
    const refused = await acme.failure("createContact", { fields })
    assert.deepInclude(refused, { category: "provider", code: "DUPLICATES_DETECTED" })
    hasMembers({ success: true })(await acme.result("createContact", { fields, allowDuplicates: true }))
  })

  it("has in its records what events are found by", async () => {
    for (const object of ["Account", "Contact", "Lead", "Opportunity"]) api.add(object, {})
    for (const { id, poll } of salesforce.events) {
      const action = findAction(salesforce, poll?.action ?? "") ?? assert.fail(id)
      const [item] = pageItems(action, await acme.result(action.name))
      assert.isDefined(valueAt(item, poll?.key ?? ""), id)
      assert.isNotNaN(Date.parse(String(valueAt(item, poll?.changedAt ?? ""))), id)
    }
  })
})

describe("Salesforce's records as common ones", () => {
  const address = { street1: "12 Mill St", city: "Ottawa", state: "ON", postalCode: "K1N", country: "CA" }

  it("are contacts, written and read again; null clears", async () => {
    const contacts = entity("contact")
    const given = {
      firstName: "Ada",
      lastName: "Byron",
      title: "Analyst",
      accountId: "001D00000000000077",
      emailAddresses: [{ emailAddress: "ada@example.com" }],
      phoneNumbers: [
        { phoneNumber: "+15142546011", type: "work" },
        { phoneNumber: "+15142546012", type: "mobile" }
      ],
      addresses: [{ ...address, type: "mailing" }]
    }
    const made = await contacts.create(given)
    assert.deepInclude(made.record, given)
    assert.deepStrictEqual(made.warnings, [])
    const id = String(made.record["id"])
    const changed = await contacts.update(id, { title: null, phoneNumbers: [{ phoneNumber: "+15142546011" }] })
    assert.deepStrictEqual(api.asked.at(-2)?.json(), { MobilePhone: null, Title: null })
    assert.notProperty(changed.record, "title")
    const since = String(changed.record["remoteUpdatedAt"])
    assert.deepStrictEqual(
      (await contacts.list({ modifiedAfter: since })).map(({ record }) => record["id"]),
      [id]
    )
    await contacts.remove(id)
    assert.isTrue(api.rows("Contact").find((row) => row["Id"] === id)?.["IsDeleted"])
  })

  it("are the contacts of the common data model", async () => {
    const contacts = makeEntityCaller(salesforce, acme, "contact", "cdm")
    const given = {
      email: "bo@example.com",
      firstName: "Bo",
      lastName: "Ek",
      phone: "+4912345678",
      addresses: [{ line1: "Weg 1", city: "Ulm", state: "BW", postalCode: "89073", country: "DE" }]
    }
    assert.deepInclude((await contacts.create(given)).record, given)
  })

  it("are accounts and leads", async () => {
    const account = {
      name: "Acme",
      numberOfEmployees: 50,
      industry: "Machinery",
      addresses: [
        { ...address, type: "billing" },
        { ...address, type: "shipping" }
      ]
    }
    assert.deepInclude((await entity("account").create(account)).record, account)
    const lead = { lastName: "Byron", company: "Acme", status: "Open - Not Contacted", leadSource: "Web" }
    assert.deepInclude((await entity("lead").create(lead)).record, lead)
  })

  it("are opportunities; the stage decides the status, and a stage is found by the id that it has there", async () => {
    const opportunities = entity("opportunity")
    const given = {
      name: "Pumps",
      amount: "1500.5",
      stageId: "Closed Won",
      closeDate: "2026-12-01T00:00:00.000Z",
      accountId: "001D00000000000077"
    }
    const made = await opportunities.create(given)
    assert.deepInclude(made.record, { ...given, status: "WON" })
    const open = await opportunities.update(String(made.record["id"]), { stageId: "Won't close" })
    assert.strictEqual(open.record["status"], "OPEN")
    const stage = await entity("stage").get(String(open.record["stageId"]))
    assert.deepInclude(stage.record, { name: "Won't close", order: 2, probability: 0.25 })
  })

  it("are tasks, whose opportunity and contact are told from other records", async () => {
    const tasks = entity("task")
    const opportunity = api.add("Opportunity", { AccountId: "001D00000000000077" })
    const given = {
      subject: "Send the offer",
      content: "By post",
      status: "OPEN",
      dueDate: "2026-11-05T00:00:00.000Z",
      contactId: "003D00000000000001",
      opportunityId: String(opportunity["Id"])
    }
    const made = await tasks.create(given)
    assert.deepInclude(made.record, { ...given, accountId: "001D00000000000077" })
    const id = String(made.record["id"])
    assert.strictEqual((await tasks.update(id, { status: "CLOSED" })).record["status"], "CLOSED")
    const other = api.add("Task", { WhoId: "00QD00000000000001", WhatId: "001D00000000000077" })
    const read = await tasks.get(String(other["Id"]))
    assert.notProperty(read.record, "contactId")
    assert.notProperty(read.record, "opportunityId")
    assert.strictEqual(read.record["accountId"], "001D00000000000077")
  })

  it.each([
    ["call", { engagementType: "CALL", direction: "INBOUND", startTime: "2026-11-05T00:00:00.000Z" }],
    ["email", { engagementType: "EMAIL", startTime: "2026-11-05T00:00:00.000Z" }],
    ["event", { engagementType: "MEETING", startTime: "2026-11-05T09:00:00.000Z", endTime: "2026-11-05T10:00:00.000Z" }]
  ])("are engagements: %s", async (name, more) => {
    const given = {
      subject: "Pumps",
      content: "Two of them",
      accountId: "001D00000000000077",
      contactIds: ["003D00000000000001"],
      ...more
    }
    const engagements = entity(name)
    assert.deepInclude((await engagements.create(given)).record, given)
    assert.deepInclude((await engagements.list()).at(-1)?.record, given)
    const tasks = await entity("task").list()
    assert.isFalse(tasks.some(({ record }) => record["subject"] === "Pumps"))
  })

  it("are notes on one record, and users", async () => {
    const made = await entity("note").create({ content: "Wants two", contactId: "003D00000000000001" })
    assert.deepInclude(made.record, { content: "Wants two" })
    assert.deepInclude(api.rows("Note").at(-1), { Title: "Note", ParentId: "003D00000000000001" })
    assert.deepInclude((await entity("user").list())[0]?.record, { email: "grace@acme.example", isActive: true })
  })
})
