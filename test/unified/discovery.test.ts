/** What discover tells of common models: losses of the maps in force, and the account's own fields as the provider has them. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { makeKey } from "../support/keys.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { connectTo, plainCrm, type PlainCrm, publishDefinition, startPlainCrm } from "../support/unified/PlainCrm.js"

const plain = plainCrm("described-crm")
const described = {
  ...plain,
  actions: [
    ...plain.actions,
    {
      name: "fields",
      title: "Fields",
      inputSchema: { type: "object", properties: { of: { type: "string" } } },
      outputSchema: {},
      request: { method: "GET", path: "/fields", query: { of: "{{args.of}}" } }
    }
  ],
  entities: [
    ...plain.entities.map((entity) => ({
      ...entity,
      describe: {
        action: "fields",
        args: { of: "contacts" },
        items: "fields",
        name: "key",
        title: "label",
        type: "kind",
        required: { path: "must", op: "eq", value: true },
        readOnly: { path: "system", op: "eq", value: true },
        custom: { path: "key", op: "startsWith", value: "x_" }
      }
    })),
    { name: "note", read: "list" }
  ]
}

let svc: Running
let crm: PlainCrm
let connection = ""
beforeAll(async () => {
  svc = await startShared()
  crm = await startPlainCrm()
  await publishDefinition(svc, described)
  connection = await connectTo(svc, "described-crm", crm.url)
})
afterAll(async () => {
  await svc.stop()
  await crm.stop()
})

const ask = (method: string, target: string, body?: unknown, key = svc.first.key) =>
  svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })
const discover = (body: object, key = svc.first.key) => ask("POST", "/connectors/discover", body, key)
const fieldsOf = (fields: ReadonlyArray<unknown>) => crm.replies.push({ status: 200, body: { fields } })
const effective = async (customer: string) => {
  const answer = await ask(
    "GET",
    `/field-maps/effective?connector=described-crm&model=crm.contact&customer_id=${customer}`
  )
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.body.data
}

describe("Losses of maps", () => {
  it("are named of the map in force, with its overrides, by pair and in the connector's coverage", async () => {
    const [before] = (await discover({ connector: "described-crm" })).body.data.coverage
    assert.deepInclude(before, { entity: "contact", cdm: null, unified: "crm.contact", lossy: [] })
    const made = await ask("POST", "/field-maps", {
      connector: "described-crm",
      entity: "contact",
      model: "crm.contact",
      customerId: svc.first.customerId,
      fields: [
        { from: "job", to: "title", transforms: ["UPPER"] },
        { from: "day", to: "customFields.day" },
        { from: "state", to: "customFields.state", enum: { a: "x", b: "y" } }
      ],
      fieldsOut: [
        { from: "title", to: "job" },
        { from: "customFields.day", to: "other" },
        { from: "customFields.state", to: "state", enum: { x: "a" } }
      ]
    })
    assert.strictEqual(made.status, 201, made.text)
    assert.deepStrictEqual((await effective(svc.first.customerId)).lossy, [])
    await ask("POST", `/field-maps/${made.body.data.id}/publish`, {})
    const { fields, lossy } = await effective(svc.first.customerId)
    assert.deepStrictEqual(
      lossy.map(({ code, path }: { code: string; path: string }) => [path, code]),
      [
        ["title", "CHANGED"],
        ["customFields.day", "NOT_READ"],
        ["customFields.state", "REFUSED"]
      ]
    )
    assert.match(
      lossy.find(({ path }: { path: string }) => path === "title").message,
      /^"title 0" is read again as "TITLE 0"$/
    )
    for (const one of fields)
      assert.strictEqual(
        one.lossy.length,
        ["title", "customFields.day", "customFields.state"].includes(one.pair.to) ? 1 : 0
      )
    fieldsOf([])
    const ofCustomer = await discover({ connectionId: connection })
    assert.deepStrictEqual(ofCustomer.body.data.coverage[0].lossy, lossy)
    // Another customer's map is as it was.
    assert.deepStrictEqual((await discover({ connector: "described-crm" })).body.data.coverage, [before])
    await ask("DELETE", `/field-maps/${made.body.data.id}`)
  })
})

describe("Discover of a connection", () => {
  it("tells the account's own fields, and what a create requires", async () => {
    fieldsOf([
      { key: "last", label: "Last name", kind: "string", must: true, system: false },
      { key: "x_tier", label: "Tier", kind: "enum", must: false },
      { key: "id", kind: "number", must: true, system: true },
      { label: "without a name" },
      "no field"
    ])
    const answer = await discover({ connectionId: connection })
    assert.strictEqual(answer.status, 200, answer.text)
    const [contact, note] = answer.body.data.entities
    assert.deepStrictEqual(contact.account, {
      fields: [
        { name: "last", title: "Last name", type: "string", required: true, readOnly: false, custom: false },
        { name: "x_tier", title: "Tier", type: "enum", required: false, readOnly: false, custom: true },
        { name: "id", title: null, type: "number", required: false, readOnly: true, custom: false }
      ],
      createRequires: ["last"],
      isComplete: true
    })
    assert.isNull(note.account)
    assert.strictEqual(crm.requests.at(-1)?.query.get("of"), "contacts")
    assert.notInclude(answer.text, "canary-of-a-key")
  })

  it("asks the provider each time, of the entities that are named, and for a connector never", async () => {
    const requests = crm.requests.length
    assert.isNull((await discover({ connector: "described-crm" })).body.data.entities[0].account)
    assert.isNull((await discover({ connectionId: connection, entities: ["note"] })).body.data.entities[0].account)
    assert.strictEqual(crm.requests.length, requests)
    for (const name of ["first", "second"]) {
      fieldsOf([{ key: name }])
      const { body } = await discover({ connectionId: connection, entities: ["contact"] })
      assert.strictEqual(body.data.entities[0].account.fields[0].name, name)
    }
  })

  it("shows a bounded number of fields, and says so", async () => {
    fieldsOf(Array.from({ length: 3_000 }, (_, at) => ({ key: `f${at}`, label: "x".repeat(1_000) })))
    const { account } = (await discover({ connectionId: connection })).body.data.entities[0]
    assert.deepStrictEqual(
      [account.fields.length, account.isComplete, account.fields[0].title.length],
      [2_000, false, 200]
    )
  })

  it("answers the provider's failures as the proxy does, and unknown names and rights as elsewhere", async () => {
    crm.replies.push({ status: 403, body: { message: "no scope" } })
    const failed = await discover({ connectionId: connection })
    assert.deepStrictEqual([failed.status, failed.body.code, failed.body.provider.status], [502, "PROVIDER_ERROR", 403])
    const { key } = await makeKey(svc, { preset: "custom", permissions: { connectors: ["read"] } })
    const refused = await discover({ connectionId: connection }, key)
    assert.deepStrictEqual([refused.status, refused.body.code], [403, "FORBIDDEN"], refused.text)
    assert.strictEqual((await discover({ connectionId: connection, entities: [] }, key)).status, 200)
    for (const [body, path, code] of [
      [{ connectionId: connection, entities: ["contct"] }, "entities[0]", "UNKNOWN_NAME"],
      [{ connector: "described-crm", entities: ["contact"] }, "entities", "NOT_ALLOWED"]
    ] as const) {
      const answer = await discover(body)
      assert.deepInclude(answer.body.details[0], { path, code }, answer.text)
    }
    const { key: foreign } = await svc.organisation("Other")
    assert.strictEqual((await discover({ connectionId: connection }, foreign)).status, 404)
  })
})
