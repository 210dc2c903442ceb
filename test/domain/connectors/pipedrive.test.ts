import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { findAction } from "../../../src/domain/connector/Definition.js"
import { pageItems } from "../../../src/domain/connector/request/Pagination.js"
import { valueAt } from "../../../src/domain/expression/Path.js"
import { readRateHeaders } from "../../../src/domain/connector/request/RateReading.js"
import { pipedrive as builtIn } from "../../../src/domain/connectors/pipedrive/Pipedrive.js"
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
import { favouriteField, pipedriveFake, type PipedriveFake } from "../../support/fakes/pipedrive.js"

const pipedrive = builtIn.definition()

let api: PipedriveFake
let acme: Caller

const caller = (apiToken: string) =>
  makeCaller(pipedrive, api.origin, { method: "token", credential: { apiToken }, config: { apiDomain: api.origin } })

beforeAll(async () => {
  api = await pipedriveFake()
  acme = caller("token")
})
afterAll(() => api.close())

const entity = (name: string) => makeEntityCaller(pipedrive, acme, name)

const callsOf = (singular: string, plural: string, kind: string, fields: JsonObject): Calls => {
  const id = api.add(kind, fields)["id"] as string | number
  return {
    [`list${plural}`]: [{ limit: 1 }, hasItems("data", 1)],
    [`get${singular}`]: [{ id }, hasMembers({ id })],
    [`create${singular}`]: [fields, hasMembers(fields)],
    [`update${singular}`]: [{ id, fields }, hasMembers(fields)],
    [`delete${singular}`]: [{ id: String(id) }, hasMembers({ id })]
  }
}

describe("Pipedrive", () => {
  it("answers every action", () =>
    callEveryAction(pipedrive, acme, {
      getCurrentUser: [{}, hasMembers({ company_name: "Acme" })],
      listUsers: [{}, hasItems("data", 2)],
      getUser: [{ id: 1 }, hasMembers({ email: "grace1@acme.example" })],
      listActivityTypes: [{}, hasItems("data", 3)],
      ...callsOf("Person", "Persons", "persons", { name: "Ada Byron", custom_fields: { [favouriteField]: 7 } }),
      ...callsOf("Organization", "Organizations", "organizations", { name: "Acme" }),
      ...callsOf("Deal", "Deals", "deals", { title: "Pumps", value: 1500 }),
      ...callsOf("Activity", "Activities", "activities", { subject: "First call", type: "call" }),
      ...callsOf("Lead", "Leads", "leads", { title: "Ada, pumps", person_id: 1 }),
      ...callsOf("Note", "Notes", "notes", { content: "Wants two", deal_id: 1 }),
      listStages: [{ pipeline_id: 1 }, hasItems("data", 3)],
      getStage: [{ id: 1 }, hasMembers({ name: "Qualified" })],
      listPipelines: [{}, hasItems("data", 1)],
      getPipeline: [{ id: "4" }, hasMembers({ name: "Sales" })],
      listPersonFields: [{ limit: 500 }, hasItems("data", 2)],
      listOrganizationFields: [{}, hasItems("data", 2)],
      listDealFields: [{}, hasItems("data", 2)]
    }))

  it("follows the cursor of version 2 and the offset of version 1 to the last page", async () => {
    for (let at = 0; at < 5; at += 1) {
      api.add("organizations", { name: `Page ${at}` })
      api.add("leads", { title: `Page ${at}` })
    }
    for (const [action, kind] of [
      ["listOrganizations", "organizations"],
      ["listLeads", "leads"]
    ] as const) {
      const ids = (await acme.pages(action, { limit: 2 })).flat().map((one) => objectOf(one)["id"])
      const stored = api.rows(kind).filter((row) => kind === "leads" || row["is_deleted"] !== true)
      assert.deepStrictEqual(
        ids,
        stored.map(({ id }) => id)
      )
    }
  })

  it("reads an empty list of version 1, which is null", async () =>
    assert.deepStrictEqual(await acme.pages("listLeads", { updated_since: "2030-01-01T00:00:00Z" }), [[]]))

  it("tells what Pipedrive refuses, with its code and words", async () => {
    assert.deepInclude(await acme.failure("createDeal", { value: 3 }), {
      category: "provider",
      status: 400,
      code: "ERR_SCHEMA_VALIDATION_FAILED",
      message: "Validation failed: title: Required"
    })
    assert.deepInclude(await acme.failure("getPerson", { id: 404 }), { status: 404, message: "Person not found" })
    assert.deepInclude(await caller("no").failure("getCurrentUser"), { category: "auth", status: 401 })
    api.plan({ json: { success: false, error: "The budget is used up", data: null } })
    assert.deepInclude(await acme.failure("listUsers"), { category: "provider", message: "The budget is used up" })
  })

  it("sends the token of an app as a bearer, to the company's own address", async () => {
    const connected = makeCaller(pipedrive, api.origin, {
      method: "oauth",
      credential: { accessToken: "access" },
      config: { apiDomain: api.origin }
    })
    hasMembers({ company_name: "Acme" })(await connected.result("getCurrentUser"))
    assert.isUndefined(api.asked.at(-1)?.headers["x-api-token"])
  })

  it("reads what is left of two seconds, and when they end", async () => {
    const { headers } = await acme.answer("getCurrentUser")
    assert.deepInclude(readRateHeaders(pipedrive, headers, 1_000), { limit: 20, remaining: 19, resetAt: 3_000 })
  })

  it("has in its records what events are found by", async () => {
    for (const kind of ["persons", "organizations", "deals"]) api.add(kind, { name: "Ada" })
    for (const { id, poll } of pipedrive.events) {
      const action = findAction(pipedrive, poll?.action ?? "") ?? assert.fail(id)
      const [item] = pageItems(action, await acme.result(action.name))
      assert.isDefined(valueAt(item, poll?.key ?? ""), id)
      assert.isNotNaN(Date.parse(String(valueAt(item, poll?.changedAt ?? ""))), id)
    }
  })
})

describe("Pipedrive's records as common ones", () => {
  it("are persons with all their addresses and numbers; fields of the account's own stay", async () => {
    const contacts = entity("person")
    const given = {
      firstName: "Ada",
      lastName: "Byron",
      accountId: "77",
      ownerId: "1",
      emailAddresses: [
        { emailAddress: "ada@example.com", type: "work" },
        { emailAddress: "home@example.com", type: "home" }
      ],
      phoneNumbers: [{ phoneNumber: "+15142546011", type: "mobile" }]
    }
    const made = await contacts.create(given)
    assert.deepInclude(made.record, given)
    assert.deepStrictEqual(made.warnings, [])
    const id = String(made.record["id"])
    await contacts.update(id, { customFields: { [favouriteField]: 7 } })
    const changed = await contacts.update(id, { lastName: "Lovelace", accountId: null })
    assert.deepStrictEqual(api.asked.at(-1)?.json(), { name: "Ada Lovelace", org_id: null })
    assert.deepInclude(changed.record, { firstName: "Ada", lastName: "Lovelace" })
    assert.deepStrictEqual(changed.record["customFields"], { [favouriteField]: 7 })
    assert.deepStrictEqual(
      (await contacts.list({ modifiedAfter: String(changed.record["remoteUpdatedAt"]) })).map(
        ({ record }) => record["id"]
      ),
      [id]
    )
    await contacts.remove(id)
    assert.strictEqual((await acme.failure("getPerson", { id })).status, 404)
  })

  it("are the contacts of the common data model", async () => {
    const contacts = makeEntityCaller(pipedrive, acme, "person", "cdm")
    const given = { email: "bo@example.com", firstName: "Bo", lastName: "Ek", phone: "+4912345678" }
    assert.deepInclude((await contacts.create(given)).record, given)
  })

  it("are organisations; a new street takes the place of route and number", async () => {
    const accounts = entity("organization")
    const address = { street1: "Weg 1", street2: null, city: "Ulm", state: "BW", postalCode: "89073", country: "DE" }
    const made = await accounts.create({ name: "Acme", addresses: [address] })
    assert.deepInclude(made.record, { name: "Acme", addresses: [address] })
    const { id } = api.add("organizations", {
      name: "Other",
      address: { value: "12 Mill St, Ottawa", street_number: "12", route: "Mill St", locality: "Ottawa" }
    })
    const [street] = (await accounts.get(String(id))).record["addresses"] as ReadonlyArray<JsonObject>
    assert.deepInclude(street, { street1: "12 Mill St", city: "Ottawa" })
    const moved = await accounts.update(String(id), { addresses: [{ ...street, street1: "14 Mill St" }] })
    assert.deepInclude((moved.record["addresses"] as ReadonlyArray<JsonObject>)[0], { street1: "14 Mill St" })
  })

  it("are deals, whose amounts are numbers and whose states can be written", async () => {
    const deals = entity("deal")
    const given = {
      name: "Pumps",
      amount: "1500.5",
      currency: "EUR",
      stageId: "2",
      pipelineId: "1",
      status: "OPEN",
      closeDate: "2026-12-01T00:00:00.000Z",
      accountId: "77",
      contactIds: ["101"]
    }
    const made = await deals.create(given)
    assert.deepInclude(made.record, given)
    assert.strictEqual((await deals.update(String(made.record["id"]), { status: "WON" })).record["status"], "WON")
  })

  it("are leads, which can be archived", async () => {
    const { id } = api.add("leads", { title: "Ada, pumps", owner_id: 1 })
    const leads = entity("lead")
    assert.deepInclude((await leads.get(String(id))).record, { title: "Ada, pumps", status: "open", leadSource: "API" })
    assert.strictEqual((await leads.update(String(id), { status: "archived" })).record["status"], "archived")
  })

  it("are engagements of the account's own types, too", async () => {
    const engagements = entity("engagement")
    const given = {
      subject: "Pumps",
      content: "Two of them",
      engagementTypeId: "lunch_meeting",
      startTime: "2026-11-05T00:00:00.000Z",
      contactIds: ["101", "102"],
      accountId: "77"
    }
    const made = await engagements.create(given)
    assert.deepInclude(made.record, given)
    assert.deepStrictEqual(made.warnings, [])
    assert.strictEqual(made.provider["person_id"], 101)
    const { id } = api.add("activities", { type: "call", due_date: "2026-11-05", due_time: "09:30" })
    assert.deepInclude((await engagements.get(String(id))).record, {
      engagementType: "CALL",
      startTime: "2026-11-05T09:30:00.000Z"
    })
  })

  it("are tasks, done or not", async () => {
    const tasks = entity("task")
    const given = {
      subject: "Send the offer",
      dueDate: "2026-11-05T00:00:00.000Z",
      status: "OPEN",
      contactId: "101",
      opportunityId: "901",
      accountId: "77"
    }
    const made = await tasks.create(given)
    assert.deepInclude(made.record, given)
    assert.strictEqual(made.provider["type"], "task")
    const closed = await tasks.update(String(made.record["id"]), { status: "CLOSED" })
    assert.strictEqual(closed.record["status"], "CLOSED")
    assert.match(String(closed.record["completedAt"]), /^2026-10-01T/)
  })

  it("are notes, stages, types of engagements and users", async () => {
    const note = { content: "Wants two", contactId: "101", opportunityId: "901", ownerId: "1" }
    assert.deepInclude((await entity("note").create(note)).record, note)
    const stages = await entity("stage").list()
    assert.deepInclude(stages[1]?.record, { name: "Offer made", pipelineId: "1", order: 1, probability: 0.4 })
    const types = await entity("activity_type").list()
    assert.deepStrictEqual(
      types.map(({ record }) => [record["id"], record["activityType"], record["remoteWasDeleted"]]),
      [
        ["call", "CALL", false],
        ["meeting", "MEETING", true],
        ["lunch_meeting", "OTHER", false]
      ]
    )
    const [user] = await entity("user").list()
    assert.deepInclude(user?.record, { isActive: true, remoteCreatedAt: "2026-01-01T09:00:00.000Z" })
  })
})
