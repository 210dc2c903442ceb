/** The objects of HubSpot's CRM. */
import type { JsonObject } from "../../Json.js"
import type { HubspotObject } from "./Requests.js"

const times = {
  createdAt: "2026-09-01T10:00:00.000Z",
  updatedAt: "2026-10-01T10:00:00.000Z",
  archived: false
}

const mockOf = (id: string, properties: JsonObject): JsonObject => ({ id, properties, ...times })

const activity = { created: "hs_createdate", changed: "hs_lastmodifieddate" } as const

export const hubspotContact: HubspotObject = {
  singular: "Contact",
  plural: "Contacts",
  nameWithArticle: "a contact",
  path: "contacts",
  linked: ["companies"],
  created: "createdate",
  changed: "lastmodifieddate",
  mock: mockOf("101", { firstname: "Ada", lastname: "Byron", email: "ada@example.com", jobtitle: "Analyst" })
}

export const hubspotCompany: HubspotObject = {
  singular: "Company",
  plural: "Companies",
  nameWithArticle: "a company",
  path: "companies",
  linked: ["contacts"],
  created: "createdate",
  changed: "hs_lastmodifieddate",
  mock: mockOf("501", { name: "Acme", domain: "acme.example", industry: "MACHINERY", numberofemployees: "50" })
}

export const hubspotDeal: HubspotObject = {
  singular: "Deal",
  plural: "Deals",
  nameWithArticle: "a deal",
  path: "deals",
  linked: ["companies", "contacts"],
  created: "createdate",
  changed: "hs_lastmodifieddate",
  mock: mockOf("901", { dealname: "Pumps", amount: "1500.00", pipeline: "default", dealstage: "qualifiedtobuy" })
}

export const hubspotLead: HubspotObject = {
  singular: "Lead",
  plural: "Leads",
  nameWithArticle: "a lead",
  path: "leads",
  linked: ["companies", "contacts"],
  ...activity,
  mock: mockOf("701", { hs_lead_name: "Ada Byron, pumps", hs_pipeline_stage: "new-stage-id" })
}

export const hubspotCall: HubspotObject = {
  singular: "Call",
  plural: "Calls",
  nameWithArticle: "a call",
  path: "calls",
  linked: ["companies", "contacts", "deals"],
  ...activity,
  mock: mockOf("301", { hs_call_title: "First call", hs_timestamp: "2026-10-02T09:00:00Z" })
}

export const hubspotMeeting: HubspotObject = {
  singular: "Meeting",
  plural: "Meetings",
  nameWithArticle: "a meeting",
  path: "meetings",
  linked: ["companies", "contacts", "deals"],
  ...activity,
  mock: mockOf("311", { hs_meeting_title: "Demo", hs_timestamp: "2026-10-03T09:00:00Z" })
}

export const hubspotEmail: HubspotObject = {
  singular: "Email",
  plural: "Emails",
  nameWithArticle: "an e-mail",
  path: "emails",
  linked: ["companies", "contacts", "deals"],
  ...activity,
  mock: mockOf("321", { hs_email_subject: "Offer", hs_timestamp: "2026-10-04T09:00:00Z" })
}

export const hubspotNote: HubspotObject = {
  singular: "Note",
  plural: "Notes",
  nameWithArticle: "a note",
  path: "notes",
  linked: ["companies", "contacts", "deals"],
  ...activity,
  mock: mockOf("331", { hs_note_body: "Wants two pumps", hs_timestamp: "2026-10-05T09:00:00Z" })
}

export const hubspotTask: HubspotObject = {
  singular: "Task",
  plural: "Tasks",
  nameWithArticle: "a task",
  path: "tasks",
  linked: ["companies", "contacts", "deals"],
  ...activity,
  mock: mockOf("341", {
    hs_task_subject: "Send the offer",
    hs_task_status: "NOT_STARTED",
    hs_timestamp: "2026-10-06T09:00:00Z"
  })
}

export const hubspotObjects: ReadonlyArray<HubspotObject> = [
  hubspotContact,
  hubspotCompany,
  hubspotDeal,
  hubspotLead,
  hubspotCall,
  hubspotMeeting,
  hubspotEmail,
  hubspotNote,
  hubspotTask
]
