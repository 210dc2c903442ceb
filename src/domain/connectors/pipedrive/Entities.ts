/** The common entities of Pipedrive. Its tasks and engagements are activities, of which its lists cannot choose a type: svc does. */
import type { FieldMapEncoded } from "../../mapping/FieldMap.js"
import { type EntityManifest, pairs } from "../SchemaShorthands.js"
import { activity, deal, organization, person, type stage } from "./Resources.js"

type Pairs = ReadonlyArray<FieldMapEncoded>

/** Members that records of version 2 have. */
const common = pairs({
  id: "id",
  add_time: "remoteCreatedAt",
  update_time: "remoteUpdatedAt",
  is_deleted: "remoteWasDeleted"
})

/** The account's own fields, by the hashes that are their names. */
const customFields = { custom_fields: "customFields" }

type Resource = typeof stage

const verbs = ({ plural, singular }: Resource): Partial<EntityManifest> => ({
  read: `list${plural}`,
  get: `get${singular}`,
  create: `create${singular}`,
  update: `update${singular}`,
  delete: `delete${singular}`,
  args: {
    read: { limit: "{{query.pageSize}}", updated_since: "{{query.modifiedAfter.iso}}" },
    update: { id: "{{id}}", fields: "{{record}}" }
  }
})

const describedFields = (singular: string): NonNullable<EntityManifest["describe"]> => ({
  action: `list${singular}Fields`,
  args: { limit: 500 },
  items: "$.data",
  name: "field_code",
  title: "field_name",
  type: "field_type",
  required: { path: "required_fields.enabled", op: "eq", value: true },
  custom: { path: "is_custom_field", op: "eq", value: true }
})

/** `{value, primary, label}` ↔ a common address or number; the first is the primary one where none is. */
const labelled = (from: string, to: string, value: string): FieldMapEncoded => ({
  from,
  to,
  items: pairs({ value, label: "type" })
})
const writtenLabelled = (from: string, to: string, value: string): FieldMapEncoded => ({
  from,
  to,
  items: pairs({ [value]: "value", type: "label" })
})

/** The parts of an address that have a member of their own; the street is a route with a number. */
const readAddress = (from: string): Pairs => [
  {
    from: `${from}.route`,
    to: "addresses[0].street1",
    transforms: [{ fn: "CONCAT", args: [" ", `${from}.street_number`, `${from}.route`] }]
  },
  ...pairs({
    [`${from}.subpremise`]: "addresses[0].street2",
    [`${from}.locality`]: "addresses[0].city",
    [`${from}.admin_area_level_1`]: "addresses[0].state",
    [`${from}.postal_code`]: "addresses[0].postalCode",
    [`${from}.country`]: "addresses[0].country"
  })
]

const writtenAddress: Pairs = [
  ...pairs({
    "addresses[0].street1": "address.route",
    "addresses[0].street2": "address.subpremise",
    "addresses[0].city": "address.locality",
    "addresses[0].state": "address.admin_area_level_1",
    "addresses[0].postalCode": "address.postal_code",
    "addresses[0].country": "address.country"
  }),
  // The number is a part of the written street.
  { from: "addresses[0].street1", to: "address.street_number", enum: {}, fallback: null }
]

/** Pipedrive takes the whole name and splits it. */
const writtenName: FieldMapEncoded = {
  from: "lastName",
  to: "name",
  transforms: [{ fn: "CONCAT", args: [" ", "firstName", "lastName"] }]
}

const organizationMembers = { name: "name", owner_id: "ownerId", ...customFields }
const personMembers = { org_id: "accountId", owner_id: "ownerId", ...customFields }
const dealMembers = {
  title: "name",
  value: "amount",
  currency: "currency",
  owner_id: "ownerId",
  org_id: "accountId",
  stage_id: "stageId",
  pipeline_id: "pipelineId",
  person_id: "contactIds[0]",
  ...customFields
}
const activityMembers = { subject: "subject", note: "content", owner_id: "ownerId", org_id: "accountId" }

const reversed = (paths: Readonly<Record<string, string>>): Pairs =>
  Object.entries(paths).map(([to, from]) => ({ from, to }))

/** The types of activities that are tasks; the others, also those of the account, are engagements. */
const taskTypes = ["task", "deadline"]
const engagementTypes = { call: "CALL", meeting: "MEETING", email: "EMAIL" }

export const pipedriveEntities: ReadonlyArray<EntityManifest> = [
  {
    name: "organization",
    unified: "crm/account",
    ...verbs(organization),
    describe: describedFields("Organization"),
    unifiedFields: [...common, ...pairs(organizationMembers), ...readAddress("address")],
    unifiedFieldsOut: [...reversed(organizationMembers), ...writtenAddress]
  },
  {
    name: "person",
    cdm: "CDMContact",
    unified: "crm/contact",
    ...verbs(person),
    describe: describedFields("Person"),
    fields: pairs({
      id: "id",
      "emails[0].value": "email",
      first_name: "firstName",
      last_name: "lastName",
      "phones[0].value": "phone",
      add_time: "createdAt",
      update_time: "updatedAt"
    }),
    fieldsOut: [writtenName, ...pairs({ email: "emails[0].value", phone: "phones[0].value" })],
    unifiedFields: [
      ...common,
      ...pairs({ first_name: "firstName", last_name: "lastName", job_title: "title", ...personMembers }),
      labelled("emails", "emailAddresses", "emailAddress"),
      labelled("phones", "phoneNumbers", "phoneNumber"),
      ...readAddress("postal_address")
    ],
    unifiedFieldsOut: [
      writtenName,
      ...reversed(personMembers),
      writtenLabelled("emailAddresses", "emails", "emailAddress"),
      writtenLabelled("phoneNumbers", "phones", "phoneNumber")
    ]
  },
  {
    name: "deal",
    unified: "crm/opportunity",
    ...verbs(deal),
    describe: describedFields("Deal"),
    unifiedFields: [
      ...common,
      ...pairs(dealMembers),
      { from: "status", to: "status", enum: { open: "OPEN", won: "WON", lost: "LOST" }, fallback: null },
      { from: "expected_close_date", to: "closeDate", dateFormat: "date" }
    ],
    unifiedFieldsOut: [
      ...reversed(dealMembers),
      { from: "status", to: "status", enum: { OPEN: "open", WON: "won", LOST: "lost" } },
      { from: "closeDate", to: "expected_close_date", dateFormat: "date" }
    ]
  },
  // A lead belongs to a person or an organisation, which a record of the unified API cannot name: none is created.
  {
    name: "lead",
    unified: "crm/lead",
    read: "listLeads",
    get: "getLead",
    update: "updateLead",
    delete: "deleteLead",
    args: {
      read: { limit: "{{query.pageSize}}", updated_since: "{{query.modifiedAfter.iso}}" },
      update: { id: "{{id}}", fields: "{{record}}" }
    },
    unifiedFields: [
      ...pairs({
        id: "id",
        add_time: "remoteCreatedAt",
        update_time: "remoteUpdatedAt",
        title: "title",
        owner_id: "ownerId",
        source_name: "leadSource"
      }),
      { from: "is_archived", to: "status", enum: { false: "open", true: "archived" } }
    ],
    unifiedFieldsOut: [
      ...pairs({ title: "title", ownerId: "owner_id" }),
      { from: "status", to: "is_archived", enum: { open: false, archived: true } }
    ]
  },
  {
    name: "engagement",
    unified: "crm/engagement",
    ...verbs(activity),
    where: { path: "type", op: "nin", value: taskTypes },
    unifiedFields: [
      ...common,
      ...pairs({ ...activityMembers, type: "engagementTypeId", "participants[*].person_id": "contactIds[*]" }),
      { from: "type", to: "engagementType", enum: engagementTypes, fallback: null },
      {
        from: "due_date",
        to: "startTime",
        transforms: [{ fn: "CONCAT", args: ["T", "due_date", "due_time"] }]
      }
    ],
    unifiedFieldsOut: [
      ...reversed(activityMembers),
      // The common words are those of Pipedrive's own types, in capital letters.
      {
        from: "engagementTypeId",
        to: "type",
        transforms: [{ fn: "COALESCE", args: ["engagementType"] }, "LOWER"]
      },
      { from: "startTime", to: "due_date", dateFormat: "date" },
      { from: "contactIds[*]", to: "participants[*].person_id" },
      { from: "contactIds[0]", to: "participants[0].primary", enum: {}, fallback: true }
    ]
  },
  {
    name: "task",
    unified: "crm/task",
    ...verbs(activity),
    where: { path: "type", op: "in", value: taskTypes },
    unifiedFields: [
      ...common,
      ...pairs({
        ...activityMembers,
        marked_as_done_time: "completedAt",
        person_id: "contactId",
        deal_id: "opportunityId"
      }),
      { from: "due_date", to: "dueDate", dateFormat: "date" },
      { from: "done", to: "status", enum: { false: "OPEN", true: "CLOSED" } }
    ],
    unifiedFieldsOut: [
      { to: "type", default: "task" },
      ...reversed({ ...activityMembers, deal_id: "opportunityId" }),
      { from: "dueDate", to: "due_date", dateFormat: "date" },
      { from: "status", to: "done", enum: { OPEN: false, CLOSED: true } },
      { from: "contactId", to: "participants[0].person_id" },
      { from: "contactId", to: "participants[0].primary", enum: {}, fallback: true }
    ]
  },
  {
    name: "activity_type",
    unified: "crm/engagement-type",
    read: "listActivityTypes",
    unifiedFields: [
      // Activities name their type by this key.
      ...pairs({ key_string: "id", add_time: "remoteCreatedAt", update_time: "remoteUpdatedAt", name: "name" }),
      { from: "active_flag", to: "remoteWasDeleted", enum: { true: false, false: true } },
      { from: "key_string", to: "activityType", enum: engagementTypes, fallback: "OTHER" }
    ]
  },
  {
    name: "note",
    unified: "crm/note",
    create: "createNote",
    unifiedFields: pairs({
      id: "id",
      add_time: "remoteCreatedAt",
      update_time: "remoteUpdatedAt",
      content: "content",
      user_id: "ownerId",
      org_id: "accountId",
      person_id: "contactId",
      deal_id: "opportunityId"
    })
  },
  {
    name: "stage",
    unified: "crm/stage",
    read: "listStages",
    get: "getStage",
    args: { read: { limit: "{{query.pageSize}}" } },
    unifiedFields: [
      ...common,
      ...pairs({ name: "name", pipeline_id: "pipelineId", order_nr: "order" }),
      { from: "deal_probability", to: "probability", transforms: [{ fn: "MULTIPLY", args: ["0.01"] }] }
    ]
  },
  {
    name: "user",
    unified: "crm/user",
    read: "listUsers",
    get: "getUser",
    unifiedFields: pairs({
      id: "id",
      created: "remoteCreatedAt",
      modified: "remoteUpdatedAt",
      is_deleted: "remoteWasDeleted",
      name: "name",
      email: "email",
      active_flag: "isActive"
    })
  }
]
