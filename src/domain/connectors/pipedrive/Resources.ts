/** The resources of Pipedrive. */
import type { JsonObject } from "../../Json.js"
import { flag, integer, list, nullable, number, oneOf, record, text, time } from "../SchemaShorthands.js"
import { changedFilters, type PipedriveResource } from "./Requests.js"

const date: JsonObject = { type: ["string", "null"], format: "date" }
const reference = nullable("integer")
/** E-mail addresses and phone numbers. */
const labelled = list(record({ value: text, primary: flag, label: text }, "value"))
const address: JsonObject = {
  ...record({
    value: text,
    street_number: nullable("string"),
    route: nullable("string"),
    subpremise: nullable("string"),
    locality: nullable("string"),
    admin_area_level_1: nullable("string"),
    country: nullable("string"),
    postal_code: nullable("string")
  }),
  type: ["object", "null"]
}
/** Values of the account's own fields by the hashes that are their names. */
const customFields: JsonObject = { type: "object" }

const times = { add_time: "2026-09-01T10:00:00Z", update_time: "2026-10-01T10:00:00Z", is_deleted: false }

export const person: PipedriveResource = {
  singular: "Person",
  plural: "Persons",
  nameWithArticle: "a person",
  path: "/api/v2/persons",
  version: 2,
  schema: record({ id: integer, name: text, emails: labelled, phones: labelled, add_time: time }, "id", "name"),
  filters: { ...changedFilters, org_id: integer, deal_id: integer },
  writable: {
    name: text,
    owner_id: integer,
    org_id: reference,
    emails: labelled,
    phones: labelled,
    visible_to: integer,
    label_ids: list(integer),
    marketing_status: oneOf("no_consent", "unsubscribed", "subscribed", "archived"),
    custom_fields: customFields
  },
  required: ["name"],
  hasCustomFields: true,
  mock: {
    id: 101,
    name: "Ada Byron",
    first_name: "Ada",
    last_name: "Byron",
    emails: [{ value: "ada@example.com", primary: true, label: "work" }],
    phones: [],
    ...times
  }
}

export const organization: PipedriveResource = {
  singular: "Organization",
  plural: "Organizations",
  nameWithArticle: "an organisation",
  path: "/api/v2/organizations",
  version: 2,
  schema: record({ id: integer, name: text, address, add_time: time }, "id", "name"),
  filters: changedFilters,
  writable: {
    name: text,
    owner_id: integer,
    address,
    visible_to: integer,
    label_ids: list(integer),
    custom_fields: customFields
  },
  required: ["name"],
  hasCustomFields: true,
  mock: { id: 501, name: "Acme", address: null, ...times }
}

export const deal: PipedriveResource = {
  singular: "Deal",
  plural: "Deals",
  nameWithArticle: "a deal",
  path: "/api/v2/deals",
  version: 2,
  schema: record({ id: integer, title: text, value: number, currency: text, status: text }, "id", "title"),
  filters: {
    ...changedFilters,
    person_id: integer,
    org_id: integer,
    pipeline_id: integer,
    stage_id: integer,
    status: list(oneOf("open", "won", "lost", "deleted"))
  },
  writable: {
    title: text,
    value: { type: ["number", "null"] },
    currency: text,
    owner_id: integer,
    person_id: reference,
    org_id: reference,
    pipeline_id: integer,
    stage_id: integer,
    status: oneOf("open", "won", "lost"),
    expected_close_date: date,
    probability: { type: ["number", "null"] },
    lost_reason: nullable("string"),
    visible_to: integer,
    label_ids: list(integer),
    custom_fields: customFields
  },
  required: ["title"],
  hasCustomFields: true,
  mock: { id: 901, title: "Pumps", value: 1500, currency: "EUR", status: "open", stage_id: 1, pipeline_id: 1, ...times }
}

export const activity: PipedriveResource = {
  singular: "Activity",
  plural: "Activities",
  nameWithArticle: "an activity",
  path: "/api/v2/activities",
  version: 2,
  schema: record({ id: integer, subject: text, type: text, done: flag, due_date: date }, "id", "type"),
  filters: {
    ...changedFilters,
    deal_id: integer,
    lead_id: text,
    person_id: integer,
    org_id: integer,
    done: flag
  },
  writable: {
    subject: text,
    type: text,
    owner_id: integer,
    deal_id: reference,
    lead_id: nullable("string"),
    org_id: reference,
    due_date: date,
    due_time: nullable("string"),
    duration: nullable("string"),
    busy: flag,
    done: flag,
    note: nullable("string"),
    public_description: nullable("string"),
    participants: list(record({ person_id: integer, primary: flag }, "person_id")),
    attendees: list(record({ email: text, name: text })),
    location: address
  },
  required: [],
  hasCustomFields: false,
  mock: {
    id: 301,
    subject: "First call",
    type: "call",
    done: false,
    due_date: "2026-11-02",
    due_time: "09:00",
    ...times
  }
}

export const pipedriveLead: PipedriveResource = {
  singular: "Lead",
  plural: "Leads",
  nameWithArticle: "a lead",
  path: "/v1/leads",
  version: 1,
  schema: record({ id: text, title: text, owner_id: integer, is_archived: flag }, "id", "title"),
  filters: {
    owner_id: integer,
    person_id: integer,
    organization_id: integer,
    filter_id: integer,
    updated_since: time
  },
  writable: {
    title: text,
    owner_id: integer,
    label_ids: list(text),
    person_id: reference,
    organization_id: reference,
    is_archived: flag,
    value: {
      type: ["object", "null"],
      properties: { amount: number, currency: text },
      required: ["amount", "currency"]
    },
    expected_close_date: date,
    was_seen: flag,
    channel: reference,
    channel_id: nullable("string")
  },
  required: ["title"],
  hasCustomFields: false,
  mock: {
    id: "adf21080-0e10-11eb-879b-05d71fb426ec",
    title: "Ada Byron, pumps",
    owner_id: 1,
    is_archived: false,
    source_name: "API",
    add_time: "2026-10-14T11:30:36.551Z",
    update_time: "2026-10-15T11:30:36.551Z"
  }
}

export const note: PipedriveResource = {
  singular: "Note",
  plural: "Notes",
  nameWithArticle: "a note",
  path: "/v1/notes",
  version: 1,
  schema: record({ id: integer, content: text, add_time: text, update_time: text }, "id", "content"),
  filters: {
    user_id: integer,
    lead_id: text,
    deal_id: integer,
    person_id: integer,
    org_id: integer,
    updated_since: time
  },
  writable: {
    content: text,
    user_id: integer,
    lead_id: text,
    deal_id: integer,
    person_id: integer,
    org_id: integer
  },
  required: ["content"],
  hasCustomFields: false,
  mock: {
    id: 331,
    content: "Wants two pumps",
    user_id: 1,
    deal_id: 901,
    add_time: "2026-10-05 09:00:00",
    update_time: "2026-10-05 09:00:00"
  }
}

export const stage: PipedriveResource = {
  singular: "Stage",
  plural: "Stages",
  nameWithArticle: "a stage of deals",
  path: "/api/v2/stages",
  version: 2,
  schema: record({ id: integer, name: text, order_nr: integer, deal_probability: integer }, "id", "name"),
  filters: { pipeline_id: integer },
  writable: {},
  required: [],
  hasCustomFields: false,
  mock: { id: 1, name: "Qualified", order_nr: 0, deal_probability: 40, pipeline_id: 1, ...times }
}

export const pipeline: PipedriveResource = {
  singular: "Pipeline",
  plural: "Pipelines",
  nameWithArticle: "a pipeline of deals",
  path: "/api/v2/pipelines",
  version: 2,
  schema: record({ id: integer, name: text, order_nr: integer }, "id", "name"),
  filters: {},
  writable: {},
  required: [],
  hasCustomFields: false,
  mock: { id: 1, name: "Sales", order_nr: 0, ...times }
}
