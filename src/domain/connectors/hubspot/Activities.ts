/** The entities of HubSpot on timelines: calls, meetings and e-mails, which are engagements, and notes and tasks. */
import type { FieldMapEncoded } from "../../mapping/FieldMap.js"
import type { EntityManifest } from "../SchemaShorthands.js"
import {
  hubspotCommon,
  hubspotVerbs,
  readLink,
  readLinks,
  readProperties,
  writtenLinks,
  writtenProperties,
  writtenWords
} from "./Maps.js"
import { hubspotCall, hubspotEmail, hubspotMeeting, hubspotTask } from "./Objects.js"
import type { HubspotObject } from "./Requests.js"

interface Engagement {
  readonly object: HubspotObject
  readonly variant: string
  readonly type: "CALL" | "MEETING" | "EMAIL"
  /** Property → common path. */
  readonly properties: Readonly<Record<string, string>>
  readonly toCompany: number
  readonly toContact: number
}

const engagement = (one: Engagement, more: Pick<EntityManifest, "unifiedFields" | "unifiedFieldsOut">) => ({
  name: one.variant,
  unified: "crm/engagement",
  variant: one.variant,
  // No search: HubSpot finds no associations by it.
  ...hubspotVerbs(one.object, { associations: ["companies", "contacts"], isSearched: false }),
  fieldsAt: "properties",
  unifiedFields: [
    ...hubspotCommon,
    ...readProperties(one.properties),
    { to: "engagementType", default: one.type },
    readLink("companies", "accountId"),
    readLinks("contacts", "contactIds"),
    ...(more.unifiedFields ?? [])
  ],
  unifiedFieldsOut: [
    ...writtenActivity(one.properties),
    ...writtenLinks("accountId", "companies", one.toCompany),
    ...writtenLinks("contactIds[*]", "contacts", one.toContact),
    ...(more.unifiedFieldsOut ?? [])
  ]
})

/** Pairs of properties, of which one may be the place on timelines. */
const writtenActivity = (paths: Readonly<Record<string, string>>): ReadonlyArray<FieldMapEncoded> =>
  writtenProperties(paths).map((pair) => (pair.to === "properties.hs_timestamp" ? { ...pair, defaultNow: true } : pair))

/** HubSpot requires the time at which a new record stands on timelines. */
const timelinePlace = (from?: string): FieldMapEncoded => ({
  ...(from === undefined ? {} : { from, default: "" }),
  to: "properties.hs_timestamp",
  defaultNow: true
})

const owner = { hubspot_owner_id: "ownerId" }
const emailDirections = { EMAIL: "OUTBOUND", INCOMING_EMAIL: "INBOUND", FORWARDED_EMAIL: "OUTBOUND" }

export const engagementEntities: ReadonlyArray<EntityManifest> = [
  engagement(
    {
      object: hubspotCall,
      variant: "call",
      type: "CALL",
      properties: {
        hs_call_title: "subject",
        hs_call_body: "content",
        hs_call_direction: "direction",
        hs_timestamp: "startTime",
        ...owner
      },
      toCompany: 182,
      toContact: 194
    },
    {}
  ),
  engagement(
    {
      object: hubspotMeeting,
      variant: "meeting",
      type: "MEETING",
      properties: {
        hs_meeting_title: "subject",
        hs_meeting_body: "content",
        hs_meeting_start_time: "startTime",
        hs_meeting_end_time: "endTime",
        ...owner
      },
      toCompany: 188,
      toContact: 200
    },
    // Where the meeting stands on timelines.
    { unifiedFieldsOut: [timelinePlace("startTime")] }
  ),
  engagement(
    {
      object: hubspotEmail,
      variant: "email",
      type: "EMAIL",
      properties: {
        hs_email_subject: "subject",
        hs_email_text: "content",
        hs_timestamp: "startTime",
        ...owner
      },
      toCompany: 186,
      toContact: 198
    },
    {
      unifiedFields: [{ from: "properties.hs_email_direction", to: "direction", enum: emailDirections }],
      unifiedFieldsOut: [
        writtenWords("direction", "hs_email_direction", { OUTBOUND: "EMAIL", INBOUND: "INCOMING_EMAIL" })
      ]
    }
  )
]

const note = { hs_note_body: "content", ...owner }

export const noteEntity: EntityManifest = {
  name: "note",
  unified: "crm/note",
  create: "createNote",
  fieldsAt: "properties",
  unifiedFields: [...hubspotCommon, ...readProperties(note)],
  unifiedFieldsOut: [
    ...writtenActivity(note),
    timelinePlace(),
    ...writtenLinks("accountId", "companies", 190),
    ...writtenLinks("contactId", "contacts", 202),
    ...writtenLinks("opportunityId", "deals", 214)
  ]
}

const task = {
  hs_task_subject: "subject",
  hs_task_body: "content",
  hs_timestamp: "dueDate",
  ...owner
}

export const taskEntity: EntityManifest = {
  name: "task",
  unified: "crm/task",
  ...hubspotVerbs(hubspotTask, { associations: ["companies", "contacts", "deals"], isSearched: false }),
  fieldsAt: "properties",
  unifiedFields: [
    ...hubspotCommon,
    ...readProperties({ ...task, hs_task_completion_date: "completedAt" }),
    {
      from: "properties.hs_task_status",
      to: "status",
      enum: { NOT_STARTED: "OPEN", IN_PROGRESS: "OPEN", WAITING: "OPEN", DEFERRED: "OPEN", COMPLETED: "CLOSED" }
    },
    readLink("companies", "accountId"),
    readLink("contacts", "contactId"),
    readLink("deals", "opportunityId")
  ],
  unifiedFieldsOut: [
    ...writtenActivity(task),
    writtenWords("status", "hs_task_status", { OPEN: "NOT_STARTED", CLOSED: "COMPLETED" }),
    ...writtenLinks("accountId", "companies", 192),
    ...writtenLinks("contactId", "contacts", 204),
    ...writtenLinks("opportunityId", "deals", 216)
  ]
}
