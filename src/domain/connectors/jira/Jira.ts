/** Jira Cloud, REST API v3. https://developer.atlassian.com/cloud/jira/platform/rest/v3 */
import { defineBuiltIn } from "../../connector/Definition.js"
import { atlassianAuth, atlassianConfig, atlassianRateLimit } from "../AtlassianAccount.js"
import {
  type ActionManifest,
  args,
  flag,
  fromArgs,
  id,
  integer,
  list,
  pairs,
  record,
  text,
  upTo
} from "../SchemaShorthands.js"
import { issueActions } from "./Issues.js"
import { jiraApi, jiraField, jiraPage, jiraProject, jiraResponse, jiraUser, projectMock, userMock } from "./Requests.js"

const startAt = { type: "integer", minimum: 0 }

const siteActions: ReadonlyArray<ActionManifest> = [
  {
    name: "getMyself",
    title: "Get the account",
    request: { method: "GET", path: `${jiraApi}/myself` },
    response: jiraResponse,
    inputSchema: args(),
    outputSchema: jiraUser,
    mocks: [{ name: "one", output: userMock }]
  },
  {
    name: "listProjects",
    title: "List projects",
    request: {
      method: "GET",
      path: `${jiraApi}/project/search`,
      query: {
        maxResults: "{{args.maxResults ?? 50}}",
        ...fromArgs("startAt", "query", "orderBy", "typeKey", "expand")
      }
    },
    response: jiraResponse,
    pagination: {
      type: "offset",
      param: "startAt",
      sizeParam: "maxResults",
      size: 50,
      items: "$.values",
      total: "$.total"
    },
    inputSchema: args({ maxResults: upTo(50), startAt, query: text, orderBy: text, typeKey: text, expand: text }),
    outputSchema: jiraPage("values", jiraProject),
    mocks: [{ name: "one", output: { values: [projectMock], startAt: 0, maxResults: 50, total: 1, isLast: true } }]
  },
  {
    name: "getProject",
    title: "Get a project",
    request: { method: "GET", path: `${jiraApi}/project/{{args.projectId}}`, query: fromArgs("expand") },
    response: jiraResponse,
    inputSchema: args({ projectId: id, expand: text }, "projectId"),
    outputSchema: jiraProject,
    mocks: [{ name: "one", output: projectMock }]
  },
  {
    name: "listUsers",
    title: "List people, apps among them",
    request: {
      method: "GET",
      path: `${jiraApi}/users/search`,
      query: { maxResults: "{{args.maxResults ?? 200}}", startAt: "{{args.startAt}}" }
    },
    response: jiraResponse,
    pagination: { type: "offset", param: "startAt", sizeParam: "maxResults", size: 200 },
    inputSchema: args({ maxResults: upTo(1_000), startAt }),
    outputSchema: list(jiraUser),
    mocks: [{ name: "one", output: [userMock] }]
  },
  {
    name: "getUser",
    title: "Get a person",
    request: { method: "GET", path: `${jiraApi}/user`, query: fromArgs("accountId", "expand") },
    response: jiraResponse,
    inputSchema: args({ accountId: text, expand: text }, "accountId"),
    outputSchema: jiraUser,
    mocks: [{ name: "one", output: userMock }]
  },
  {
    name: "listFields",
    title: "List the fields of issues",
    request: { method: "GET", path: `${jiraApi}/field` },
    response: jiraResponse,
    inputSchema: args(),
    outputSchema: list(record({ id: text, name: text, custom: flag, schema: record({ type: text }) }, "id", "name")),
    mocks: [
      { name: "one", output: [{ id: "customfield_10042", name: "Plant", custom: true, schema: { type: "string" } }] }
    ]
  },
  {
    name: "listCreateFields",
    title: "List the fields of a new issue of a project and type",
    request: {
      method: "GET",
      path: `${jiraApi}/issue/createmeta/{{args.projectId}}/issuetypes/{{args.issueTypeId}}`,
      query: { maxResults: "{{args.maxResults ?? 50}}", startAt: "{{args.startAt}}" }
    },
    response: jiraResponse,
    pagination: {
      type: "offset",
      param: "startAt",
      sizeParam: "maxResults",
      size: 50,
      items: "$.fields",
      total: "$.total"
    },
    inputSchema: args({ projectId: id, issueTypeId: id, maxResults: upTo(200), startAt }, "projectId", "issueTypeId"),
    outputSchema: record({ fields: list(jiraField), startAt: integer, maxResults: integer, total: integer }, "fields"),
    mocks: [
      {
        name: "one",
        output: {
          fields: [{ fieldId: "summary", key: "summary", name: "Summary", required: true, schema: { type: "string" } }],
          startAt: 0,
          maxResults: 50,
          total: 1
        }
      }
    ]
  }
]

/** The priorities that every site begins with, by their ids: their names are translated. */
const priorities = { 1: "URGENT", 2: "HIGH", 3: "NORMAL", 4: "LOW", 5: "LOW" }

export const jira = defineBuiltIn({
  svcConnector: 1,
  slug: "jira",
  name: "Jira",
  description: "Projects, issues, comments and people of a Jira Cloud site.",
  kind: "project_management",
  version: "1.0.0",
  domain: "atlassian.com",
  baseUrl: "{{connection.config.url}}",
  connectionConfig: atlassianConfig("jira"),
  auth: atlassianAuth(["read:jira-work", "write:jira-work", "read:jira-user"]),
  test: { action: "getMyself", accountLabel: "$.displayName" },
  rateLimit: atlassianRateLimit,
  actions: [...siteActions, ...issueActions],
  entities: [
    {
      name: "project",
      unified: "project-management/project",
      read: "listProjects",
      get: "getProject",
      args: { read: { maxResults: "{{query.pageSize}}" }, get: { projectId: "{{id}}" } },
      unifiedFields: [
        ...pairs({ id: "id", name: "name", key: "key" }),
        { from: "archived", to: "status", enum: { true: "archived", false: "active" }, default: "active" },
        { from: "deleted", to: "remoteWasDeleted", default: false }
      ]
    },
    {
      name: "issue",
      unified: "project-management/task",
      read: "searchIssues",
      search: "searchIssues",
      get: "getIssue",
      create: ["createIssue", "getIssue"],
      update: ["updateIssue", "getIssue"],
      delete: "deleteIssue",
      fieldsAt: "fields",
      args: {
        read: {
          maxResults: "{{query.pageSize}}",
          fields: "{{query.fields}}",
          jql: 'created >= "1970-01-01" order by created'
        },
        // Texts of times are in the zone of the account, milliseconds in none.
        search: {
          maxResults: "{{query.pageSize}}",
          fields: "{{query.fields}}",
          jql: "updated >= {{query.modifiedAfter.ms ?? 0}} and created >= {{query.createdAfter.ms ?? 0}} order by created"
        },
        get: { issueId: "{{id}}", fields: "{{query.fields}}" },
        create: [{}, { issueId: "{{results[0].id}}" }],
        update: [{ issueId: "{{id}}" }, { issueId: "{{id}}" }],
        delete: { issueId: "{{id}}" }
      },
      describe: {
        action: "listFields",
        items: "$",
        name: "id",
        title: "name",
        type: "schema.type",
        required: { path: "id", op: "in", value: ["project", "issuetype", "summary"] },
        readOnly: {
          path: "id",
          op: "in",
          value: ["status", "created", "updated", "creator", "resolutiondate", "votes", "watches", "worklog", "comment"]
        },
        custom: { path: "custom", op: "eq", value: true }
      },
      unifiedFields: [
        ...pairs({
          id: "id",
          "fields.created": "remoteCreatedAt",
          "fields.updated": "remoteUpdatedAt",
          "fields.summary": "title",
          "fields.description": "description",
          "fields.project.id": "projectId",
          "fields.status.name": "rawStatus",
          "fields.assignee.accountId": "assigneeIds[0]",
          "fields.duedate": "dueDate",
          "fields.labels[*]": "labels[*]",
          "fields.parent.id": "parentId"
        }),
        {
          from: "fields.status.statusCategory.key",
          to: "status",
          enum: { new: "OPEN", undefined: "OPEN", indeterminate: "IN_PROGRESS", done: "DONE" }
        },
        { from: "fields.priority.id", to: "priority", enum: priorities }
      ],
      // The status follows from transitions, which depend on the account's workflows.
      unifiedFieldsOut: [
        { to: "fields.issuetype.name", default: "Task" },
        ...pairs({
          title: "fields.summary",
          description: "fields.description",
          projectId: "fields.project.id",
          "assigneeIds[0]": "fields.assignee.accountId",
          "labels[*]": "fields.labels[*]",
          parentId: "fields.parent.id"
        }),
        { from: "dueDate", to: "fields.duedate", dateFormat: "date" },
        { from: "priority", to: "fields.priority.id", enum: { URGENT: "1", HIGH: "2", NORMAL: "3", LOW: "4" } }
      ]
    },
    {
      name: "comment",
      unified: "project-management/comment",
      get: "getComment",
      create: "createComment",
      update: "updateComment",
      delete: "deleteComment",
      args: {
        get: { commentId: "{{id}}" },
        update: { commentId: "{{id}}" },
        delete: { commentId: "{{id}}" }
      },
      unifiedFields: pairs({
        commentId: "id",
        created: "remoteCreatedAt",
        updated: "remoteUpdatedAt",
        issueId: "taskId",
        body: "content"
      }),
      unifiedFieldsOut: pairs({ taskId: "issueId", content: "body" })
    },
    {
      name: "user",
      unified: "project-management/user",
      read: "listUsers",
      get: "getUser",
      args: { read: { maxResults: "{{query.pageSize}}" }, get: { accountId: "{{id}}" } },
      unifiedFields: pairs({ accountId: "id", displayName: "name", emailAddress: "email" })
    }
  ]
})
