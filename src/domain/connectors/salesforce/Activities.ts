/**
 * The activities of Salesforce: tasks, of which some are calls and e-mails, events, and notes. `WhoId` names a contact or a
 * lead, `WhatId` an account, an opportunity or another record: queries tell them apart.
 */
import { type ActionManifest, type EntityManifest, pairs, text } from "../SchemaShorthands.js"
import { salesforceEvent, salesforceTask } from "./Objects.js"
import { salesforceCommon, writtenPairs } from "./Records.js"
import { defineQuery, pageOf, type SalesforceObject } from "./Requests.js"

const related = ["TYPEOF Who WHEN Contact THEN Id END", "TYPEOF What WHEN Opportunity THEN Id END"]
const shared = ["Id", "Subject", "Description", "OwnerId", "AccountId", "CreatedDate", "SystemModstamp", "IsDeleted"]
const taskFields = [
  ...shared,
  "Status",
  "IsClosed",
  "ActivityDate",
  "CompletedDateTime",
  "TaskSubtype",
  "CallType",
  ...related
].join(", ")
const eventFields = [...shared, "StartDateTime", "EndDateTime", ...related].join(", ")

const defineRelated = ({ mock, name, nameWithArticle }: SalesforceObject, fields: string): ActionManifest => ({
  ...defineQuery(
    {
      name: `get${name}WithRelated`,
      title: `Get ${nameWithArticle} with its contact and opportunity`,
      mocks: pageOf(mock)
    },
    `SELECT {{args.fields ?? "${fields}"}} FROM ${name} WHERE Id = '{{args.id}}'`,
    { id: text, fields: text },
    "id"
  )
})

export const activityActions: ReadonlyArray<ActionManifest> = [
  defineRelated(salesforceTask, taskFields),
  defineRelated(salesforceEvent, eventFields)
]

/** The actions of an activity. A record that does not exist is found by `get`: a query of it is empty. */
const verbs = (
  { name, plural }: SalesforceObject,
  read: Readonly<Record<string, string>>
): Partial<EntityManifest> => ({
  read: `list${plural}`,
  get: [`get${name}`, `get${name}WithRelated`],
  create: [`create${name}`, `get${name}WithRelated`],
  update: [`update${name}`, `get${name}WithRelated`],
  delete: `delete${name}`,
  record: "$.records[0]",
  args: {
    read: {
      batchSize: "{{query.pageSize}}",
      modifiedAfter: "{{query.modifiedAfter.iso}}",
      createdAfter: "{{query.createdAfter.iso}}",
      ...read
    },
    get: [{ id: "{{id}}", fields: "Id" }, { id: "{{id}}" }],
    create: [{ fields: "{{record}}" }, { id: "{{results[0].id}}" }],
    update: [{ id: "{{id}}", fields: "{{record}}" }, { id: "{{id}}" }]
  }
})

const content = { Subject: "subject", Description: "content", OwnerId: "ownerId" }
const engaged = [...pairs({ AccountId: "accountId", "Who.Id": "contactIds[0]" })]
const writtenEngaged = pairs({ accountId: "WhatId", "contactIds[0]": "WhoId" })

const taskEngagement = (
  variant: "call" | "email",
  subtype: "Call" | "Email",
  more: Pick<EntityManifest, "unifiedFields" | "unifiedFieldsOut">
): EntityManifest => ({
  name: variant,
  unified: "crm/engagement",
  variant,
  ...verbs(salesforceTask, { fields: taskFields, subtype }),
  unifiedFields: [
    ...salesforceCommon,
    ...pairs(content),
    // A task has a day and no time.
    { from: "ActivityDate", to: "startTime", dateFormat: "date" },
    { to: "engagementType", default: subtype.toUpperCase() },
    ...engaged,
    ...(more.unifiedFields ?? [])
  ],
  unifiedFieldsOut: [
    ...writtenPairs(content),
    { from: "startTime", to: "ActivityDate", dateFormat: "date" },
    { to: "TaskSubtype", default: subtype },
    { to: "Status", default: "Completed" },
    ...writtenEngaged,
    ...(more.unifiedFieldsOut ?? [])
  ]
})

export const activityEntities: ReadonlyArray<EntityManifest> = [
  taskEngagement("call", "Call", {
    unifiedFields: [
      { from: "CallType", to: "direction", enum: { Inbound: "INBOUND", Outbound: "OUTBOUND", Internal: null } }
    ],
    unifiedFieldsOut: [{ from: "direction", to: "CallType", enum: { INBOUND: "Inbound", OUTBOUND: "Outbound" } }]
  }),
  {
    name: "event",
    unified: "crm/engagement",
    variant: "event",
    ...verbs(salesforceEvent, { fields: eventFields }),
    unifiedFields: [
      ...salesforceCommon,
      ...pairs({ ...content, StartDateTime: "startTime", EndDateTime: "endTime" }),
      { to: "engagementType", default: "MEETING" },
      ...engaged
    ],
    unifiedFieldsOut: [
      ...writtenPairs({ ...content, StartDateTime: "startTime", EndDateTime: "endTime" }),
      ...writtenEngaged
    ]
  },
  taskEngagement("email", "Email", {}),
  {
    name: "task",
    unified: "crm/task",
    ...verbs(salesforceTask, { fields: taskFields, subtype: "Task" }),
    unifiedFields: [
      ...salesforceCommon,
      ...pairs({
        ...content,
        CompletedDateTime: "completedAt",
        AccountId: "accountId",
        "Who.Id": "contactId",
        "What.Id": "opportunityId"
      }),
      { from: "ActivityDate", to: "dueDate", dateFormat: "date" },
      { from: "IsClosed", to: "status", enum: { true: "CLOSED", false: "OPEN" } }
    ],
    unifiedFieldsOut: [
      ...writtenPairs(content),
      { from: "dueDate", to: "ActivityDate", dateFormat: "date" },
      { from: "status", to: "Status", enum: { OPEN: "Not Started", CLOSED: "Completed" } },
      { to: "TaskSubtype", default: "Task" },
      ...pairs({ contactId: "WhoId", opportunityId: "WhatId" })
    ]
  },
  {
    name: "note",
    unified: "crm/note",
    create: ["createNote", "getNote"],
    args: {
      create: [
        {
          fields: {
            Title: "{{record.Title}}",
            Body: "{{record.Body}}",
            OwnerId: "{{record.OwnerId}}",
            ParentId: "{{record.OpportunityId ?? record.ContactId ?? record.AccountId}}"
          }
        },
        { id: "{{results[0].id}}" }
      ]
    },
    unifiedFields: [...salesforceCommon, ...pairs({ Body: "content", OwnerId: "ownerId" })],
    // A note has one parent and needs a title.
    unifiedFieldsOut: [
      { to: "Title", default: "Note" },
      ...pairs({
        content: "Body",
        ownerId: "OwnerId",
        opportunityId: "OpportunityId",
        contactId: "ContactId",
        accountId: "AccountId"
      })
    ]
  }
]
