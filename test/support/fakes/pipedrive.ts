/**
 * Pipedrive's API: version 2 with opaque cursors, strict types and times in RFC 3339; version 1 with offsets, `data: null` for
 * an empty list and times without a zone. Fields of the account's own are named by hashes.
 */
import { createHash } from "node:crypto"
import { type Fake, type FakeRequest, type Reply, slice, startFake } from "./Fake.js"

type Row = Record<string, unknown>

const plural: Readonly<Record<string, string>> = {
  persons: "Person",
  organizations: "Organization",
  deals: "Deal",
  activities: "Activity"
}
/** The type of each member of a body; others are refused. */
const bodies: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  persons: {
    name: "string",
    owner_id: "number",
    org_id: "number",
    emails: "labelled",
    phones: "labelled",
    custom_fields: "object"
  },
  organizations: { name: "string", owner_id: "number", address: "object", custom_fields: "object" },
  deals: {
    title: "string",
    value: "number",
    currency: "string",
    owner_id: "number",
    person_id: "number",
    org_id: "number",
    stage_id: "number",
    pipeline_id: "number",
    status: "string",
    expected_close_date: "day",
    custom_fields: "object"
  },
  activities: {
    subject: "string",
    type: "string",
    owner_id: "number",
    deal_id: "number",
    org_id: "number",
    due_date: "day",
    due_time: "string",
    done: "boolean",
    note: "string",
    participants: "participants"
  }
}
const needed: Readonly<Record<string, string>> = { persons: "name", organizations: "name", deals: "title" }

/** The hash that names a field of the account's own. */
export const favouriteField = createHash("sha1").update("favourite").digest("hex")

const refused = (status: number, error: string, code: string): Reply => ({
  status,
  json: { success: false, error, error_info: "Please check developers.pipedrive.com", code, data: null }
})
const notFound = (what: string) => refused(404, `${what} not found`, "ERR_NOT_FOUND")
const invalid = (error: string) => refused(400, error, "ERR_SCHEMA_VALIDATION_FAILED")

const isOfType = (type: string, value: unknown): boolean => {
  if (value === null) return true
  switch (type) {
    case "day":
      return typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value)
    case "labelled":
      return Array.isArray(value) && value.every((one: Row) => typeof one["value"] === "string")
    case "participants":
      return Array.isArray(value) && value.every((one: Row) => typeof one["person_id"] === "number")
    default:
      return typeof value === type
  }
}

export interface PipedriveFake extends Fake {
  readonly rows: (kind: string) => ReadonlyArray<Row>
  readonly add: (kind: string, fields: Row) => Row
}

export const pipedriveFake = async (): Promise<PipedriveFake> => {
  const tables = new Map<string, Array<Row>>()
  let lastId = 0
  let clock = Date.UTC(2026, 9, 1)
  const table = (kind: string) => {
    const found = tables.get(kind) ?? []
    tables.set(kind, found)
    return found
  }
  const rfc3339 = () => new Date((clock += 60_000)).toISOString().replace(".000Z", "Z")
  const zoneless = () => rfc3339().replace("T", " ").replace("Z", "")

  /** What Pipedrive computes of the fields of a record. */
  const derive = (kind: string, row: Row) => {
    if (kind === "persons") {
      const [first = "", ...others] = String(row["name"] ?? "").split(" ")
      row["first_name"] = others.length === 0 ? null : first
      row["last_name"] = others.length === 0 ? first : others.join(" ")
      for (const list of ["emails", "phones"]) {
        const items = (row[list] as ReadonlyArray<Row> | undefined) ?? []
        const hasPrimary = items.some(({ primary }) => primary === true)
        row[list] = items.map((one, at) => ({
          ...one,
          label: one["label"] ?? "work",
          primary: hasPrimary ? one["primary"] === true : at === 0
        }))
      }
    }
    if (kind === "activities") {
      const participants = (row["participants"] as ReadonlyArray<Row> | undefined) ?? []
      row["person_id"] = participants.find(({ primary }) => primary === true)?.["person_id"] ?? null
      row["marked_as_done_time"] = row["done"] === true ? (row["marked_as_done_time"] ?? zoneless()) : null
    }
    return row
  }
  const add: PipedriveFake["add"] = (kind, fields) => {
    const isLead = kind === "leads"
    const at = kind === "notes" ? zoneless() : rfc3339()
    const row = derive(kind, {
      id: isLead ? `adf21080-0e10-11eb-879b-${String(++lastId).padStart(12, "0")}` : ++lastId,
      add_time: at,
      update_time: at,
      ...(kind === "notes" || isLead ? {} : { is_deleted: false }),
      ...(isLead ? { is_archived: false, source_name: "API" } : {}),
      ...(kind === "activities" ? { done: false, type: "call", due_time: null } : {}),
      ...(kind === "deals" ? { status: "open", currency: "EUR", stage_id: 1, pipeline_id: 1 } : {}),
      ...fields
    })
    table(kind).push(row)
    return row
  }

  const mistakeIn = (kind: string, body: Row): Reply | undefined => {
    const types = bodies[kind]
    if (types === undefined) return undefined
    for (const [name, value] of Object.entries(body)) {
      const type = types[name]
      if (type === undefined) return invalid(`Validation failed: ${name}: Unrecognized key`)
      if (!isOfType(type, value)) return invalid(`Validation failed: ${name}: Expected ${type}`)
    }
    return undefined
  }

  const since = (asked: FakeRequest, rows: ReadonlyArray<Row>) => {
    const from = asked.query.get("updated_since")
    return from === null ? rows : rows.filter((row) => Date.parse(String(row["update_time"])) >= Date.parse(from))
  }
  const kindOf = (asked: FakeRequest) => asked.params["kind"] ?? ""
  const rowOf = (asked: FakeRequest) =>
    table(kindOf(asked)).find((row) => String(row["id"]) === asked.params["id"] && row["is_deleted"] !== true)

  const list = (asked: FakeRequest): Reply => {
    const kind = kindOf(asked)
    const limit = Number(asked.query.get("limit") ?? 100)
    if (limit > 500) return invalid("Validation failed: limit: must be at most 500")
    const cursor = asked.query.get("cursor")
    const after = cursor === null ? 0 : Number(Buffer.from(cursor, "base64").toString())
    const rows = since(
      asked,
      table(kind).filter((row) => row["is_deleted"] !== true)
    )
    const { more, page } = slice(rows, after, limit)
    const next = Buffer.from(String(after + page.length)).toString("base64")
    return { json: { success: true, data: page, additional_data: { next_cursor: more ? next : null } } }
  }
  const listByOffset = (asked: FakeRequest): Reply => {
    const start = Number(asked.query.get("start") ?? 0)
    const limit = Number(asked.query.get("limit") ?? 100)
    const { more, page } = slice(since(asked, table(kindOf(asked))), start, limit)
    const pagination = { start, limit, more_items_in_collection: more, ...(more ? { next_start: start + limit } : {}) }
    return { json: { success: true, data: page.length === 0 ? null : page, additional_data: { pagination } } }
  }
  const get = (asked: FakeRequest): Reply => {
    const row = rowOf(asked)
    return row === undefined ? notFound(plural[kindOf(asked)] ?? "Record") : { json: { success: true, data: row } }
  }
  const create = (asked: FakeRequest): Reply => {
    const kind = kindOf(asked)
    const body = asked.json()
    const mistake = mistakeIn(kind, body)
    if (mistake !== undefined) return mistake
    const name = needed[kind]
    if (name !== undefined && body[name] === undefined) return invalid(`Validation failed: ${name}: Required`)
    if (kind === "leads" && body["person_id"] === undefined && body["organization_id"] === undefined)
      return refused(400, "A lead must be linked to a person or an organization", "ERR_BAD_REQUEST")
    return { status: 201, json: { success: true, data: add(kind, body) } }
  }
  const change = (asked: FakeRequest): Reply => {
    const kind = kindOf(asked)
    const row = rowOf(asked)
    if (row === undefined) return notFound(plural[kind] ?? "Record")
    const { custom_fields, ...body } = asked.json()
    const mistake = mistakeIn(kind, body)
    if (mistake !== undefined) return mistake
    const own =
      custom_fields === undefined
        ? {}
        : { custom_fields: { ...Object(row["custom_fields"]), ...Object(custom_fields) } }
    derive(kind, Object.assign(row, body, own, { update_time: kind === "notes" ? zoneless() : rfc3339() }))
    return { json: { success: true, data: row } }
  }
  const remove = (asked: FakeRequest): Reply => {
    const row = rowOf(asked)
    if (row === undefined) return notFound(plural[kindOf(asked)] ?? "Record")
    row["is_deleted"] = true
    return { json: { success: true, data: { id: row["id"] } } }
  }

  for (const [at, name] of ["Qualified", "Offer made", "Negotiation"].entries())
    add("stages", { name, order_nr: at, deal_probability: at * 40, pipeline_id: 1 })
  add("pipelines", { name: "Sales", order_nr: 0 })

  const fake = await startFake({
    guard: ({ headers }) =>
      headers["x-api-token"] === "token" || headers.authorization === "Bearer access"
        ? null
        : refused(401, "unauthorized access", "ERR_UNAUTHORIZED"),
    headers: () => ({ "x-ratelimit-limit": "20", "x-ratelimit-remaining": "19", "x-ratelimit-reset": "2" }),
    routes: {
      "GET /v1/users/me": () => ({
        json: { success: true, data: { ...userOf(1), company_name: "Acme", company_domain: "acme" } }
      }),
      "GET /v1/users": () => ({ json: { success: true, data: [userOf(1), userOf(2)] } }),
      "GET /v1/users/:id": ({ params }) =>
        params["id"] === "1" ? { json: { success: true, data: userOf(1) } } : notFound("User"),
      "GET /v1/activityTypes": () => ({
        json: { success: true, data: ["call", "meeting", "lunch_meeting"].map((key, at) => activityTypeOf(key, at)) }
      }),
      "GET /api/v2/personFields": () => fields("name"),
      "GET /api/v2/organizationFields": () => fields("name"),
      "GET /api/v2/dealFields": () => fields("title"),
      "GET /api/v2/:kind": list,
      "POST /api/v2/:kind": create,
      "GET /api/v2/:kind/:id": get,
      "PATCH /api/v2/:kind/:id": change,
      "DELETE /api/v2/:kind/:id": remove,
      "GET /v1/:kind": listByOffset,
      "POST /v1/:kind": create,
      "GET /v1/:kind/:id": get,
      "PATCH /v1/:kind/:id": change,
      "PUT /v1/:kind/:id": change,
      "DELETE /v1/:kind/:id": remove
    }
  })
  return { ...fake, rows: table, add }
}

const userOf = (id: number) => ({
  id,
  name: `Grace Hopper ${id}`,
  email: `grace${id}@acme.example`,
  active_flag: id === 1,
  created: "2026-01-01 09:00:00",
  modified: "2026-01-02 09:00:00",
  is_deleted: false
})

const activityTypeOf = (key: string, at: number) => ({
  id: at + 1,
  name: key,
  icon_key: "task",
  order_nr: at,
  key_string: key,
  active_flag: at !== 1,
  is_custom_flag: key.includes("_"),
  add_time: "2026-01-01 09:00:00",
  update_time: "2026-01-02 09:00:00"
})

const fields = (name: string): Reply => ({
  json: {
    success: true,
    data: [
      { field_name: "Name", field_code: name, field_type: "varchar", is_custom_field: false },
      { field_name: "Favourite", field_code: favouriteField, field_type: "enum", is_custom_field: true }
    ],
    additional_data: { next_cursor: null }
  }
})
