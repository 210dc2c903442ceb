/** The objects of Salesforce. */
import { flag, integer, number, text, time } from "../SchemaShorthands.js"
import type { SalesforceObject } from "./Requests.js"

const date = { type: "string", format: "date" }

const stamps = {
  CreatedDate: "2026-09-01T10:00:00.000+0000",
  SystemModstamp: "2026-10-01T10:00:00.000+0000",
  IsDeleted: false
}

const attributesOf = (type: string, id: string) => ({ type, url: `/services/data/v65.0/sobjects/${type}/${id}` })

export const salesforceAccount: SalesforceObject = {
  name: "Account",
  plural: "Accounts",
  nameWithArticle: "an account",
  fields: { NumberOfEmployees: integer, AnnualRevenue: number },
  mock: {
    attributes: attributesOf("Account", "001D000000IqhSLIAZ"),
    Id: "001D000000IqhSLIAZ",
    Name: "Acme",
    NumberOfEmployees: 50,
    ...stamps
  }
}

export const salesforceContact: SalesforceObject = {
  name: "Contact",
  plural: "Contacts",
  nameWithArticle: "a contact",
  fields: { Birthdate: date, HasOptedOutOfEmail: flag },
  mock: {
    attributes: attributesOf("Contact", "003D000000QOMr4IAH"),
    Id: "003D000000QOMr4IAH",
    FirstName: "Ada",
    LastName: "Byron",
    Email: "ada@example.com",
    ...stamps
  }
}

export const salesforceLead: SalesforceObject = {
  name: "Lead",
  plural: "Leads",
  nameWithArticle: "a lead",
  fields: { NumberOfEmployees: integer, AnnualRevenue: number, IsUnreadByOwner: flag },
  mock: {
    attributes: attributesOf("Lead", "00QD000000FsMyoMAF"),
    Id: "00QD000000FsMyoMAF",
    LastName: "Byron",
    Company: "Acme",
    Status: "Open - Not Contacted",
    ...stamps
  }
}

export const salesforceOpportunity: SalesforceObject = {
  name: "Opportunity",
  plural: "Opportunities",
  nameWithArticle: "an opportunity",
  fields: { Amount: number, Probability: number, CloseDate: date },
  mock: {
    attributes: attributesOf("Opportunity", "006D000000CwQNVIA3"),
    Id: "006D000000CwQNVIA3",
    Name: "Pumps",
    Amount: 1500,
    StageName: "Prospecting",
    CloseDate: "2026-12-01",
    IsClosed: false,
    IsWon: false,
    ...stamps
  }
}

/** Calls and e-mails are tasks, too. */
export const salesforceTask: SalesforceObject = {
  name: "Task",
  plural: "Tasks",
  nameWithArticle: "a task",
  fields: { ActivityDate: date, CallDurationInSeconds: integer, IsReminderSet: flag },
  condition: "TaskSubtype = '{{args.subtype ?? \"Task\"}}'",
  filters: { subtype: { type: "string", enum: ["Task", "Call", "Email", "ListEmail", "Cadence", "LinkedIn"] } },
  mock: {
    attributes: attributesOf("Task", "00TD000000OaTtMMAV"),
    Id: "00TD000000OaTtMMAV",
    Subject: "Send the offer",
    Status: "Not Started",
    IsClosed: false,
    ActivityDate: "2026-11-05",
    ...stamps
  }
}

export const salesforceEvent: SalesforceObject = {
  name: "Event",
  plural: "Events",
  nameWithArticle: "an event",
  fields: { StartDateTime: time, EndDateTime: time, DurationInMinutes: integer, IsAllDayEvent: flag },
  mock: {
    attributes: attributesOf("Event", "00UD000000HwL1pMAF"),
    Id: "00UD000000HwL1pMAF",
    Subject: "Demo",
    StartDateTime: "2026-11-03T09:00:00.000+0000",
    EndDateTime: "2026-11-03T10:00:00.000+0000",
    ...stamps
  }
}

export const salesforceUser: SalesforceObject = {
  name: "User",
  plural: "Users",
  nameWithArticle: "a user",
  fields: {},
  mock: {
    attributes: attributesOf("User", "005D0000001KyEIIA0"),
    Id: "005D0000001KyEIIA0",
    Name: "Grace Hopper",
    Email: "grace@acme.example",
    IsActive: true,
    CreatedDate: "2026-01-01T00:00:00.000+0000",
    SystemModstamp: "2026-01-02T00:00:00.000+0000"
  }
}

export const salesforceNote: SalesforceObject = {
  name: "Note",
  plural: "Notes",
  nameWithArticle: "a note",
  fields: { IsPrivate: flag, Title: text },
  mock: {
    attributes: attributesOf("Note", "002D000000Rz1QXIAZ"),
    Id: "002D000000Rz1QXIAZ",
    Title: "Note",
    Body: "Wants two pumps",
    ParentId: "006D000000CwQNVIA3",
    ...stamps
  }
}
