/** A new version of a connector names the overrides that it breaks, and records that are read with one say so. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { connectTo, plainCrm, type PlainCrm, startPlainCrm } from "../support/unified/PlainCrm.js"

let svc: Running
let crm: PlainCrm
beforeAll(async () => {
  svc = await startShared()
  crm = await startPlainCrm()
  crm.add({ stage: "gold", job: "Clerk" })
})
afterAll(async () => {
  await svc.stop()
  await crm.stop()
})

const ask = (method: string, target: string, body?: unknown, headers = {}) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, headers, ...(body === undefined ? {} : { body }) })
/** Publishes a version of a connector. */
const publish = async (definition: {
  readonly [member: string]: unknown
  readonly slug: string
  readonly version: string
}) => {
  const isNew = (await ask("GET", `/connectors/${definition.slug}`)).status === 404
  const saved = isNew
    ? await ask("POST", "/connectors", definition)
    : await ask("PUT", `/connectors/${definition.slug}`, definition)
  assert.oneOf(saved.status, [200, 201], saved.text)
  const published = await ask("POST", `/connectors/${definition.slug}/publish`, {})
  assert.strictEqual(published.status, 200, published.text)
  assert.strictEqual(published.body.data.version, definition.version)
  return published.body
}
const override = async (connector: string, body: object, isPublished = true): Promise<string> => {
  const made = await ask("POST", "/field-maps", { connector, entity: "contact", model: "crm.contact", ...body })
  assert.strictEqual(made.status, 201, made.text)
  if (isPublished) assert.strictEqual((await ask("POST", `/field-maps/${made.body.data.id}/publish`, {})).status, 200)
  return made.body.data.id
}
const contacts = (connector: string, query = "") =>
  ask("GET", `/unified/crm/contact?provider=${connector}${query}`, undefined, { "x-end-org-id": svc.first.customerId })
const partsOf = ({ brokenFieldMaps }: { brokenFieldMaps: ReadonlyArray<Readonly<Record<string, string>>> }) =>
  brokenFieldMaps.map(({ code, fieldMapId, path }) => [fieldMapId, path, code])

/** A contact's schema, with these of its fields declared. */
const declaring = (slug: string, version: string, ...fields: ReadonlyArray<string>) => {
  const plain = plainCrm(slug, { version })
  const record = { type: "object", properties: Object.fromEntries(fields.map((name) => [name, {}])) }
  return {
    ...plain,
    schemas: { contact: record },
    actions: plain.actions.map((action) =>
      action.name === "list"
        ? {
            ...action,
            outputSchema: {
              type: "object",
              properties: { items: { type: "array", items: { $ref: "#/$defs/contact" } } }
            }
          }
        : action
    )
  }
}

describe("A new version of a connector", () => {
  it("names the parts of published overrides that do not fit it, and nothing is dropped silently", async () => {
    const slug = "breaking-crm"
    assert.deepStrictEqual(await publish(plainCrm(slug)).then(partsOf), [])
    await connectTo(svc, slug, crm.url)
    const shared = await override(slug, { dropped: ["title"], fields: [{ from: "stage", to: "customFields.tier" }] })
    const own = await override(slug, { customerId: svc.first.customerId, dropped: ["customFields.tier"] })
    assert.deepStrictEqual((await contacts(slug)).body.meta.warnings, [])

    // The connector fills `title` no more: dropping it means nothing.
    const plain = plainCrm(slug, { version: "1.1.0" })
    const fields = plain.entities[0]?.unifiedFields.filter(({ to }) => to !== "title") ?? []
    const withoutTitle = { ...plain, entities: plain.entities.map((one) => ({ ...one, unifiedFields: fields })) }
    const answer = await publish(withoutTitle)
    assert.deepStrictEqual(partsOf(answer), [[shared, "dropped[0]", "UNKNOWN_NAME"]])
    assert.isTrue(answer.isComplete)

    // Its entity has another name: both overrides are without one.
    const renamed = plainCrm(slug, { version: "2.0.0" })
    const gone = await publish({ ...renamed, entities: renamed.entities.map((one) => ({ ...one, name: "person" })) })
    assert.deepStrictEqual(partsOf(gone), [
      [shared, "entity", "UNKNOWN_NAME"],
      [own, "entity", "UNKNOWN_NAME"]
    ])
    assert.match(gone.brokenFieldMaps[0].message, /is none of breaking-crm 2\.0\.0: contact/)
    // Both are still there, and the records that are read with the new version say so.
    assert.strictEqual((await ask("GET", `/field-maps/${own}`)).body.data.published, 1)
    const renewed = await connectTo(svc, slug, crm.url, svc.first.customerId, { label: "new" })
    const read = await contacts(slug, `&connection_id=${renewed}`)
    assert.strictEqual(read.status, 200, read.text)
    assert.deepStrictEqual(
      read.body.meta.warnings.map(({ code, path, record }: Readonly<Record<string, string>>) => [record, path, code]),
      [shared, own].map((id) => [null, `fieldMaps.${id}.entity`, "BROKEN_FIELD_MAP"])
    )
    assert.strictEqual((await contacts(slug, `&connection_id=${renewed}&strict=true`)).status, 422)
    const one = await ask("GET", `/unified/crm/contact/1?connection_id=${renewed}`, undefined, {
      "x-end-org-id": svc.first.customerId
    })
    assert.strictEqual(one.body.meta.warnings.length, 2, one.text)
    // Publishing again, without a draft, tells the same.
    assert.deepStrictEqual(partsOf((await ask("POST", `/connectors/${slug}/publish`, {})).body), partsOf(gone))
  })

  it("names pairs that read a field which it declares no more, of no other connector and no draft", async () => {
    const slug = "declaring-crm"
    await publish(declaring(slug, "1.0.0", "id", "stage", "job"))
    const id = await override(slug, {
      fields: [
        { from: "stage", to: "customFields.tier" },
        { from: "job", to: "title" },
        { from: "undeclared", to: "customFields.other" }
      ]
    })
    await override(slug, { customerId: svc.first.customerId, fields: [{ from: "stage", to: "title" }] }, false)
    const answer = await publish(declaring(slug, "1.1.0", "id", "job"))
    assert.deepStrictEqual(partsOf(answer), [[id, "fields[0].from", "FIELD_GONE"]])
  })

  it("is named by the map in force and by its test", async () => {
    const slug = "effective-crm"
    const minor = { minorUnits: { currency: "currency" } }
    const plain = plainCrm(slug)
    await publish({ ...plain, entities: plain.entities.map((one) => ({ ...one, ...minor })) })
    const id = await override(slug, { fields: [{ from: "cents", to: "customFields.amount", minorUnits: true }] })
    const answer = await publish(plainCrm(slug, { version: "1.1.0" }))
    const expected = [[id, "fields[0].minorUnits", "REQUIRED"]]
    assert.deepStrictEqual(partsOf(answer), expected)
    const effective = await ask("GET", `/field-maps/effective?connector=${slug}&model=crm.contact`)
    assert.deepStrictEqual(partsOf({ brokenFieldMaps: effective.body.data.broken }), expected)
    const tested = await ask("POST", `/field-maps/${id}/test`, { sample: { cents: 100 } })
    assert.deepStrictEqual(partsOf({ brokenFieldMaps: tested.body.data.broken }), expected)
    // Saving it as it is would be refused.
    const saved = await ask("PUT", `/field-maps/${id}`, { name: "again" })
    assert.deepInclude(saved.body.details[0], { path: "fields[0].minorUnits", code: "REQUIRED" }, saved.text)
  })
})
