/** Actions of Jira on issues and their comments. */
import { type ActionManifest, args, flag, fromArgs, list, record, text, texts, upTo } from "../SchemaShorthands.js"
import {
  commentId,
  commentMock,
  issueFields,
  issueId,
  issueMock,
  jiraApi,
  jiraComment,
  jiraIssue,
  jiraPage,
  jiraResponse,
  jiraTextApi,
  jiraTransition,
  noContent,
  placedComment
} from "./Requests.js"

const issuePath = `${jiraTextApi}/issue/{{args.issueId}}`
const commentPath = `${jiraTextApi}/issue/{{args.commentId}}`
/** Operations on fields, such as `{ labels: [{ add: "pump" }] }`. */
const operations = { type: "object" }

const transition = { id: "31", name: "Done", to: { id: "5", name: "Done", statusCategory: { key: "done" } } }

export const issueActions: ReadonlyArray<ActionManifest> = [
  {
    name: "searchIssues",
    title: "Search issues",
    description:
      "jql: a query with a condition; without one, Jira refuses it. fields: those of the answer, *all for all.",
    request: {
      method: "GET",
      path: `${jiraTextApi}/search/jql`,
      query: {
        jql: "{{args.jql}}",
        maxResults: "{{args.maxResults ?? 100}}",
        fields: "{{args.fields ?? '*navigable'}}",
        ...fromArgs("nextPageToken", "expand")
      },
      queryStyle: "comma"
    },
    response: jiraResponse,
    pagination: { type: "cursor", items: "$.issues", next: "$.nextPageToken", param: "nextPageToken" },
    inputSchema: args({ jql: text, maxResults: upTo(5_000), fields: texts, nextPageToken: text, expand: text }, "jql"),
    outputSchema: record({ issues: list(jiraIssue), nextPageToken: text, isLast: flag }, "issues"),
    mocks: [{ name: "one", output: { issues: [issueMock], isLast: true } }]
  },
  {
    name: "getIssue",
    title: "Get an issue",
    request: { method: "GET", path: issuePath, query: fromArgs("fields", "expand"), queryStyle: "comma" },
    response: jiraResponse,
    inputSchema: args({ issueId, fields: texts, expand: text }, "issueId"),
    outputSchema: jiraIssue,
    mocks: [{ name: "one", output: issueMock }]
  },
  {
    name: "createIssue",
    title: "Create an issue",
    request: { method: "POST", path: `${jiraTextApi}/issue`, body: fromArgs("fields", "update") },
    response: jiraResponse,
    inputSchema: args({ fields: issueFields, update: operations }, "fields"),
    outputSchema: record({ id: text, key: text, self: text }, "id", "key"),
    mocks: [{ name: "one", output: { id: "10002", key: "OPS-17" } }]
  },
  {
    name: "updateIssue",
    title: "Change an issue",
    description: "The status changes by transitionIssue.",
    request: {
      method: "PUT",
      path: issuePath,
      query: fromArgs("notifyUsers"),
      body: fromArgs("fields", "update")
    },
    response: jiraResponse,
    inputSchema: args({ issueId, fields: issueFields, update: operations, notifyUsers: flag }, "issueId"),
    outputSchema: noContent,
    mocks: [{ name: "changed", output: null }]
  },
  {
    name: "deleteIssue",
    title: "Delete an issue",
    request: { method: "DELETE", path: issuePath, query: fromArgs("deleteSubtasks") },
    response: jiraResponse,
    inputSchema: args({ issueId, deleteSubtasks: flag }, "issueId"),
    outputSchema: noContent,
    mocks: [{ name: "deleted", output: null }]
  },
  {
    name: "listTransitions",
    title: "List the transitions that an issue can make now",
    request: { method: "GET", path: `${jiraApi}/issue/{{args.issueId}}/transitions`, query: fromArgs("expand") },
    response: jiraResponse,
    inputSchema: args({ issueId, expand: text }, "issueId"),
    outputSchema: record({ transitions: list(jiraTransition) }, "transitions"),
    mocks: [{ name: "one", output: { transitions: [transition] } }]
  },
  {
    name: "transitionIssue",
    title: "Change an issue's status",
    description: "transition: the id of one of listTransitions.",
    request: {
      method: "POST",
      path: `${issuePath}/transitions`,
      body: { transition: { id: "{{args.transition}}" }, ...fromArgs("fields", "update") }
    },
    response: jiraResponse,
    inputSchema: args({ issueId, transition: text, fields: issueFields, update: operations }, "issueId", "transition"),
    outputSchema: noContent,
    mocks: [{ name: "changed", output: null }]
  },
  {
    name: "listComments",
    title: "List an issue's comments",
    request: {
      method: "GET",
      path: `${issuePath}/comment`,
      query: { maxResults: "{{args.maxResults ?? 100}}", ...fromArgs("startAt", "orderBy") }
    },
    response: jiraResponse,
    pagination: {
      type: "offset",
      param: "startAt",
      sizeParam: "maxResults",
      size: 100,
      items: "$.comments",
      total: "$.total"
    },
    inputSchema: args(
      { issueId, maxResults: upTo(100), startAt: { type: "integer", minimum: 0 }, orderBy: text },
      "issueId"
    ),
    outputSchema: jiraPage("comments", record({ id: text, body: text }, "id")),
    mocks: [
      {
        name: "one",
        output: { comments: [{ id: "10010", body: "A part is missing." }], startAt: 0, maxResults: 100, total: 1 }
      }
    ]
  },
  {
    name: "getComment",
    title: "Get a comment",
    request: { method: "GET", path: commentPath, pathValues: "segments" },
    response: { ...jiraResponse, map: placedComment(null, "{{args.commentId}}") },
    inputSchema: args({ commentId }, "commentId"),
    outputSchema: jiraComment,
    mocks: [{ name: "one", output: commentMock }]
  },
  {
    name: "createComment",
    title: "Comment on an issue",
    request: { method: "POST", path: `${issuePath}/comment`, body: fromArgs("body", "visibility") },
    response: {
      ...jiraResponse,
      map: placedComment("{{args.issueId}}", "{{args.issueId}}/comment/{{body.id}}")
    },
    inputSchema: args({ issueId, body: text, visibility: record({ type: text, value: text }) }, "issueId", "body"),
    outputSchema: jiraComment,
    mocks: [{ name: "one", output: { ...commentMock, issueId: "10002" } }]
  },
  {
    name: "updateComment",
    title: "Change a comment",
    request: { method: "PUT", path: commentPath, pathValues: "segments", body: fromArgs("body", "visibility") },
    response: { ...jiraResponse, map: placedComment(null, "{{args.commentId}}") },
    inputSchema: args({ commentId, body: text, visibility: record({ type: text, value: text }) }, "commentId", "body"),
    outputSchema: jiraComment,
    mocks: [{ name: "one", output: commentMock }]
  },
  {
    name: "deleteComment",
    title: "Delete a comment",
    request: { method: "DELETE", path: commentPath, pathValues: "segments" },
    response: jiraResponse,
    inputSchema: args({ commentId }, "commentId"),
    outputSchema: noContent,
    mocks: [{ name: "deleted", output: null }]
  }
]
