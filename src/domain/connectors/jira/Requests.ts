/**
 * The schemas of Jira's records. Texts of issues and comments go through version 2 of the API, which is the same as version
 * 3 but for them: Jira turns a text into an Atlassian document, and back.
 */
import type { JsonObject } from "../../Json.js"
import {
  type ActionManifest,
  flag,
  id,
  integer,
  list,
  nullable,
  record,
  text,
  texts,
  withDescription
} from "../SchemaShorthands.js"

/** Without texts. */
export const jiraApi = "/rest/api/3"
/** With texts of issues and comments. */
export const jiraTextApi = "/rest/api/2"

export const jiraResponse: NonNullable<ActionManifest["response"]> = {
  errorMessage: "$.errorMessages[0]",
  errorCode: "$.errorCollection.status"
}

export const noContent: JsonObject = { type: "null" }
export const issueId: JsonObject = withDescription("Its id or its key, such as OPS-17", {
  type: "string",
  pattern: "^[A-Za-z0-9_-]+$"
})
/** A comment belongs to an issue: `10002/comment/10010`. */
export const commentId: JsonObject = withDescription("The issue and the comment: 10002/comment/10010", {
  type: "string",
  pattern: "^[A-Za-z0-9_-]+/comment/[0-9]+$"
})

/** The members of an issue's `fields`, by the names of the account's fields. */
export const issueFields: JsonObject = {
  type: "object",
  properties: {
    project: record({ id, key: text }),
    issuetype: record({ id, name: text }),
    summary: text,
    description: nullable("string"),
    priority: { type: ["object", "null"], properties: { id, name: text } },
    assignee: { type: ["object", "null"], properties: { accountId: nullable("string") } },
    parent: { type: ["object", "null"], properties: { id, key: text } },
    duedate: nullable("string"),
    labels: texts
  }
}

const person = record({ accountId: text, displayName: text, emailAddress: text, active: flag }, "accountId")
export const jiraIssue: JsonObject = record({ id: text, key: text, self: text, fields: record() }, "id", "key")
export const jiraProject: JsonObject = record({ id: text, key: text, name: text, projectTypeKey: text }, "id", "key")
export const jiraUser: JsonObject = person
export const jiraComment: JsonObject = record(
  { id: text, issueId: text, commentId: text, body: text, author: { type: ["object", "null"] }, created: text },
  "body"
)
export const jiraField: JsonObject = record({ fieldId: text, key: text, name: text, required: flag, schema: record() })
export const jiraTransition: JsonObject = record({ id: text, name: text, to: record() }, "id")
export const jiraPage = (member: string, item: JsonObject): JsonObject =>
  record({ [member]: list(item), startAt: integer, maxResults: integer, total: integer }, member)

// --- Examples ---

export const userMock: JsonObject = {
  accountId: "5b10ac8d82e05b22cc7d4ef5",
  accountType: "atlassian",
  displayName: "Ada Byron",
  emailAddress: "ada@example.com",
  active: true
}
export const projectMock: JsonObject = { id: "10000", key: "OPS", name: "Operations", projectTypeKey: "software" }
export const issueMock: JsonObject = {
  id: "10002",
  key: "OPS-17",
  self: "https://acme.atlassian.net/rest/api/2/issue/10002",
  fields: {
    summary: "Repair the pump",
    description: "It leaks.",
    project: projectMock,
    issuetype: { id: "10001", name: "Task" },
    status: { id: "3", name: "In Review", statusCategory: { id: 4, key: "indeterminate", name: "In Progress" } },
    priority: { id: "2", name: "High" },
    assignee: userMock,
    labels: ["pump"],
    duedate: "2026-12-01",
    created: "2026-11-01T09:00:00.000+0000",
    updated: "2026-11-02T10:30:00.000+0000"
  }
}
export const commentMock: JsonObject = {
  commentId: "10002/comment/10010",
  body: "A part is missing.",
  author: userMock,
  created: "2026-11-02T10:30:00.000+0000",
  updated: "2026-11-02T10:30:00.000+0000"
}
/** A comment with its place, which Jira's answer lacks. */
export const placedComment = (issue: string | null, place: string): JsonObject => ({
  ...(issue === null ? {} : { issueId: issue }),
  commentId: place,
  ...Object.fromEntries(["body", "author", "created", "updated"].map((name) => [name, `{{body.${name}}}`]))
})
