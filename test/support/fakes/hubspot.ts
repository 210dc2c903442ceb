/**
 * HubSpot's CRM API: properties are texts, and answered where they are asked for; associations are listed, not searched;
 * a search finds 10,000 records at most; archived records are a list of their own.
 */
import { type Fake, type FakeRequest, type Reply, startFake } from "./Fake.js"

interface Entry {
  readonly id: string
  properties: Record<string, string | null>
  readonly createdAt: string
  updatedAt: string
  archived: boolean
  /** Object → the ids of associated records, with the type of each association. */
  readonly associations: Record<string, ReadonlyArray<{ readonly id: string; readonly type: string }>>
}

/** The object that each association type leads to, by the object that it comes from. */
const associationTypes: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  contacts: { 1: "companies", 279: "companies" },
  companies: { 280: "contacts" },
  deals: { 3: "contacts", 5: "companies", 341: "companies" },
  leads: { 578: "contacts", 610: "companies" },
  calls: { 182: "companies", 194: "contacts", 206: "deals" },
  meetings: { 188: "companies", 200: "contacts", 212: "deals" },
  emails: { 186: "companies", 198: "contacts", 210: "deals" },
  notes: { 190: "companies", 202: "contacts", 214: "deals" },
  tasks: { 192: "companies", 204: "contacts", 216: "deals" }
}

const shownByDefault: Readonly<Record<string, ReadonlyArray<string>>> = {
  contacts: ["firstname", "lastname", "email"],
  companies: ["name", "domain"],
  deals: ["dealname", "amount", "closedate", "pipeline", "dealstage"]
}
const stamped = ["calls", "meetings", "emails", "notes", "tasks"]
const withCreatedate = ["contacts", "companies", "deals"]
const readOnlyProperties = ["hs_object_id", "createdate", "lastmodifieddate", "notes_last_updated", "hs_is_closed"]

const refused = (status: number, category: string, message: string): Reply => ({
  status,
  json: { status: "error", message, correlationId: "aeb5f871-7f07-4993-9211-075dc63e7cbf", category }
})
const invalid = (message: string) => refused(400, "VALIDATION_ERROR", message)
const notFound = () => refused(404, "OBJECT_NOT_FOUND", "Object not found.  objectId are usually numeric.")

const modifiedName = (kind: string) => (kind === "contacts" ? "lastmodifieddate" : "hs_lastmodifieddate")
const createdName = (kind: string) => (withCreatedate.includes(kind) ? "createdate" : "hs_createdate")

export interface HubspotFake extends Fake {
  /** The records of an object, with all of their properties. */
  readonly stored: (kind: string) => ReadonlyArray<Entry>
  readonly add: (kind: string, properties: Record<string, string | null>, more?: Partial<Entry>) => Entry
}

export const hubspotFake = async (): Promise<HubspotFake> => {
  const records = new Map<string, Array<Entry>>()
  let lastId = 100
  let clock = Date.UTC(2026, 9, 1)
  const all = (kind: string) => {
    const found = records.get(kind) ?? []
    records.set(kind, found)
    return found
  }
  const stamp = (kind: string, entry: Entry) => {
    Object.assign(entry.properties, {
      hs_object_id: entry.id,
      [createdName(kind)]: entry.createdAt,
      [modifiedName(kind)]: entry.updatedAt
    })
    if (kind === "deals") {
      const stage = entry.properties["dealstage"]
      entry.properties["hs_is_closed"] = String(stage === "closedwon" || stage === "closedlost")
      entry.properties["hs_is_closed_won"] = String(stage === "closedwon")
    }
    return entry
  }
  const add: HubspotFake["add"] = (kind, properties, more = {}) => {
    const at = new Date((clock += 60_000)).toISOString()
    const entry: Entry = {
      id: String(++lastId),
      properties: { ...properties },
      createdAt: at,
      updatedAt: at,
      archived: false,
      associations: {},
      ...more
    }
    all(kind).push(entry)
    return stamp(kind, entry)
  }

  const answered = (kind: string, entry: Entry, names: ReadonlyArray<string>, linked: ReadonlyArray<string> = []) => {
    const shown = [...(names.length > 0 ? names : (shownByDefault[kind] ?? [])), createdName(kind), modifiedName(kind)]
    const links = linked.flatMap((name) => {
      const results = entry.associations[name] ?? []
      return results.length === 0 ? [] : [[name, { results }] as const]
    })
    return {
      id: entry.id,
      properties: Object.fromEntries([...shown, "hs_object_id"].map((name) => [name, entry.properties[name] ?? null])),
      createdAt: entry.createdAt,
      updatedAt: entry.updatedAt,
      archived: entry.archived,
      url: `https://app.hubspot.com/contacts/4711/record/${kind}/${entry.id}`,
      ...(links.length === 0 ? {} : { associations: Object.fromEntries(links) })
    }
  }
  const namesIn = (asked: FakeRequest, parameter: string) =>
    (asked.query.get(parameter) ?? "").split(",").filter((name) => name !== "")

  const kindOf = (asked: FakeRequest) => asked.params["kind"] ?? ""
  const found = (asked: FakeRequest, isArchived: boolean) =>
    all(kindOf(asked)).find(({ archived, id }) => id === asked.params["id"] && archived === isArchived)

  /** What is wrong with the properties, or `undefined`. */
  const mistakeIn = (kind: string, properties: unknown): Reply | undefined => {
    if (typeof properties !== "object" || properties === null) return invalid("Invalid input JSON: no properties")
    const names = Object.keys(properties)
    const bad = names.find((name) => readOnlyProperties.includes(name))
    if (bad !== undefined) return invalid(`Property values were not valid: ${bad} is a read only property`)
    const unknown = names.find((name) => !/^[a-z][a-z0-9_]*$/.test(name))
    if (unknown !== undefined) return invalid(`Property "${unknown}" does not exist`)
    const values = Object.values(properties)
    if (values.some((value) => typeof value === "object" && value !== null)) return invalid("Invalid input JSON")
    const email = "email" in properties ? properties.email : undefined
    const known = all(kind).find((entry) => kind === "contacts" && entry.properties["email"] === email && email)
    return known === undefined
      ? undefined
      : refused(409, "CONFLICT", `Contact already exists. Existing ID: ${known.id}`)
  }
  const texts = (properties: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [name, value === "" || value === null ? null : String(value)])
    )

  const list = (asked: FakeRequest, origin: string): Reply => {
    const kind = kindOf(asked)
    const limit = Number(asked.query.get("limit") ?? 10)
    if (limit > 100) return invalid("The limit must be at most 100")
    const isArchived = asked.query.get("archived") === "true"
    const after = Number(asked.query.get("after") ?? 0)
    const rest = all(kind).filter(({ archived, id }) => archived === isArchived && Number(id) > after)
    const page = rest.slice(0, limit)
    const last = page.at(-1)?.id
    return {
      json: {
        results: page.map((one) => answered(kind, one, namesIn(asked, "properties"), namesIn(asked, "associations"))),
        ...(rest.length > page.length
          ? { paging: { next: { after: last, link: `${origin}${asked.path}?after=${last}` } } }
          : {})
      }
    }
  }

  const search = (asked: FakeRequest): Reply => {
    const kind = kindOf(asked)
    const body = asked.json() as {
      filterGroups?: ReadonlyArray<{
        filters: ReadonlyArray<{ propertyName: string; operator: string; value: string }>
      }>
      limit?: number
      after?: string
      properties?: ReadonlyArray<string>
      sorts?: ReadonlyArray<{ propertyName: string; direction?: string }>
    }
    const { after = "0", filterGroups = [], limit = 10, properties = [], sorts = [] } = body
    if (limit > 200) return invalid("The limit must be at most 200")
    if (filterGroups.length > 5) return invalid("There must be at most 5 filter groups")
    if (Number(after) + limit > 10_000) return invalid("Paging beyond 10,000 results is not supported")
    const number = (text: string | null | undefined) =>
      /^\d+$/.test(text ?? "") ? Number(text) : Date.parse(text ?? "")
    const holds = (
      entry: Entry,
      { operator, propertyName, value }: { propertyName: string; operator: string; value: string }
    ) => {
      const own = entry.properties[propertyName]
      if (operator === "EQ") return own === value
      if (own === undefined || own === null) return false
      return operator === "GT" ? number(own) > number(value) : operator === "GTE" && number(own) >= number(value)
    }
    const hits = all(kind).filter(
      (entry) =>
        !entry.archived &&
        (filterGroups.length === 0 || filterGroups.some(({ filters }) => filters.every((one) => holds(entry, one))))
    )
    const [sort] = sorts
    if (sort !== undefined)
      hits.sort((one, other) => number(one.properties[sort.propertyName]) - number(other.properties[sort.propertyName]))
    const page = hits.slice(Number(after), Number(after) + limit)
    const next = Number(after) + page.length
    return {
      json: {
        total: hits.length,
        results: page.map((one) => answered(kind, one, properties)),
        ...(next < hits.length ? { paging: { next: { after: String(next) } } } : {})
      }
    }
  }

  const create = (asked: FakeRequest): Reply => {
    const kind = kindOf(asked)
    const { associations = [], properties } = asked.json() as {
      properties?: Record<string, unknown>
      associations?: ReadonlyArray<{ to?: { id?: string }; types?: ReadonlyArray<{ associationTypeId?: number }> }>
    }
    const mistake = mistakeIn(kind, properties)
    if (mistake !== undefined || properties === undefined) return mistake ?? invalid("Invalid input JSON")
    if (stamped.includes(kind) && properties["hs_timestamp"] === undefined)
      return invalid("Error creating the record. Some required properties were not set: hs_timestamp")
    const links: Record<string, Array<{ id: string; type: string }>> = {}
    for (const one of associations) {
      const type = one.types?.[0]?.associationTypeId ?? 0
      const target = associationTypes[kind]?.[type]
      const id = one.to?.id
      if (target === undefined || id === undefined) return invalid(`${type} is no association type of ${kind}`)
      ;(links[target] ??= []).push({ id, type: `${kind}_to_${target}` })
    }
    if (kind === "leads" && Object.keys(links).length === 0) return invalid("A lead must be associated with a contact")
    const entry = add(kind, texts(properties), { associations: links })
    return { status: 201, json: answered(kind, entry, Object.keys(properties)) }
  }

  const fake = await startFake({
    guard: ({ headers }) =>
      headers.authorization === "Bearer pat-fake"
        ? null
        : refused(401, "INVALID_AUTHENTICATION", "Authentication credentials not found."),
    headers: () => ({ "x-hubspot-ratelimit-max": "100", "x-hubspot-ratelimit-remaining": "98" }),
    routes: {
      "GET /account-info/2026-03/details": () => ({
        json: { portalId: 4711, accountType: "STANDARD", timeZone: "Europe/Berlin", companyCurrency: "EUR" }
      }),
      "GET /crm/owners/2026-03": (asked) => {
        const owners = [61, 62, 63].map((id) => ownerOf(id))
        const after = Number(asked.query.get("after") ?? 0)
        const limit = Number(asked.query.get("limit") ?? 100)
        const page = owners.slice(after, after + limit)
        const more = after + limit < owners.length
        return { json: { results: page, ...(more ? { paging: { next: { after: String(after + limit) } } } : {}) } }
      },
      "GET /crm/owners/2026-03/:id": ({ params }) =>
        params["id"] === "61" ? { json: ownerOf(61) } : refused(404, "OBJECT_NOT_FOUND", "No owner found"),
      "GET /crm/pipelines/2026-03/deals": () => ({
        json: {
          results: [
            pipelineOf("default", ["qualifiedtobuy", "closedwon", "closedlost"]),
            pipelineOf("renewals", ["due", "renewed"])
          ]
        }
      }),
      "GET /crm/properties/2026-03/:kind": () => ({
        json: {
          results: [
            propertyOf("firstname", "string", true, false),
            propertyOf("hs_object_id", "number", true, true),
            propertyOf("favourite_colour", "enumeration", false, false)
          ]
        }
      }),
      "POST /crm/objects/2026-03/:kind/search": search,
      "GET /crm/objects/2026-03/:kind": list,
      "POST /crm/objects/2026-03/:kind": create,
      "GET /crm/objects/2026-03/:kind/:id": (asked) => {
        const entry = found(asked, asked.query.get("archived") === "true")
        return entry === undefined
          ? notFound()
          : { json: answered(kindOf(asked), entry, namesIn(asked, "properties"), namesIn(asked, "associations")) }
      },
      "PATCH /crm/objects/2026-03/:kind/:id": (asked) => {
        const kind = kindOf(asked)
        const entry = found(asked, false)
        const { properties } = asked.json() as { properties?: Record<string, unknown> }
        if (entry === undefined) return notFound()
        const mistake = mistakeIn(kind, properties)
        if (mistake !== undefined || properties === undefined) return mistake ?? invalid("Invalid input JSON")
        Object.assign(entry.properties, texts(properties))
        entry.updatedAt = new Date((clock += 60_000)).toISOString()
        stamp(kind, entry)
        return { json: answered(kind, entry, Object.keys(properties)) }
      },
      "DELETE /crm/objects/2026-03/:kind/:id": (asked) => {
        const entry = found(asked, false)
        if (entry !== undefined) entry.archived = true
        // HubSpot answers the same for a record that is archived already.
        return { status: 204 }
      }
    }
  })
  return { ...fake, stored: (kind) => all(kind), add }
}

const ownerOf = (id: number) => ({
  id: String(id),
  email: `owner${id}@acme.example`,
  type: "PERSON",
  firstName: "Grace",
  lastName: `Hopper ${id}`,
  userId: id + 1_000,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-02T00:00:00.000Z",
  archived: false
})

const pipelineOf = (id: string, stages: ReadonlyArray<string>) => ({
  id,
  label: `Pipeline ${id}`,
  displayOrder: 0,
  stages: stages.map((stage, displayOrder) => ({
    id: stage,
    label: `Stage ${stage}`,
    displayOrder,
    metadata: { probability: String(displayOrder / 4), isClosed: String(stage.startsWith("closed")) },
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-02T00:00:00.000Z",
    archived: false
  }))
})

const propertyOf = (name: string, type: string, hubspotDefined: boolean, readOnlyValue: boolean) => ({
  name,
  label: name,
  type,
  fieldType: "text",
  ...(hubspotDefined ? { hubspotDefined } : {}),
  modificationMetadata: { readOnlyValue, readOnlyDefinition: hubspotDefined, archivable: true }
})
