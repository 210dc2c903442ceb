/**
 * Actions of GitHub on records by their global ids, through its GraphQL API: the REST API finds an issue by its repository's
 * name and its number only. Answers have the form of the REST API.
 */
import type { JsonObject } from "../../Json.js"
import {
  type ActionManifest,
  args,
  flag,
  integer,
  list,
  nullable,
  record,
  text,
  texts,
  upTo
} from "../SchemaShorthands.js"
import { defineGitHubList, defineGitHubRead, githubHeaders, owner } from "./Requests.js"

/** GitHub answers errors, also of a record that does not exist, with the status 200. */
const response = {
  errorWhen: { path: "errors", op: "exists", value: true },
  errorMessage: "$.errors[0].message",
  errorCode: "$.errors[0].type",
  transientCodes: ["RATE_LIMITED"],
  notFoundCodes: ["NOT_FOUND"]
} as const

interface NodeOptions {
  readonly name: string
  readonly title: string
  readonly query: string
  readonly needs: JsonObject
  readonly variables: JsonObject
  /** The record in the answer: its path, or an object of templates. */
  readonly map: string | JsonObject
  readonly outputSchema: JsonObject
  readonly mock: JsonObject
}

const defineNodeAction = (one: NodeOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  // A query changes nothing, though it is sent by POST.
  ...(one.query.startsWith("query") ? { readOnly: true } : {}),
  request: {
    method: "POST",
    path: "/graphql",
    headers: githubHeaders,
    body: { query: one.query, variables: one.variables }
  },
  response: { ...response, map: one.map },
  inputSchema: args(one.needs, ...Object.keys(one.needs)),
  outputSchema: one.outputSchema,
  mocks: [{ name: "one", output: one.mock }]
})

const byId = { needs: { id: text }, variables: { id: "{{args.id}}" } }
const membersOf = (path: string, ...names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(names.map((name) => [name, `{{${path}.${name}}}`]))

// --- Repositories ---

const repository: JsonObject = record(
  {
    node_id: text,
    name: text,
    full_name: text,
    html_url: text,
    archived: flag,
    created_at: text,
    updated_at: text,
    owner: record({ login: text })
  },
  "node_id",
  "name"
)
const hello: JsonObject = {
  node_id: "R_kgDOABOBJA",
  name: "Hello-World",
  full_name: "octocat/Hello-World",
  html_url: "https://github.com/octocat/Hello-World",
  archived: false,
  created_at: "2026-01-02T09:00:00Z",
  updated_at: "2026-11-01T09:00:00Z",
  owner: { login: "octocat" }
}

// --- Issues ---

const issueMembers = [
  "node_id",
  "number",
  "title",
  "body",
  "state",
  "state_reason",
  "html_url",
  "created_at",
  "updated_at",
  "milestone",
  "repository"
]
const issue: JsonObject = record(
  {
    node_id: text,
    number: integer,
    title: text,
    body: nullable("string"),
    state: text,
    html_url: text,
    created_at: text,
    updated_at: text,
    labels: list(record({ name: text })),
    assignees: list(record({ login: text })),
    milestone: { type: ["object", "null"] },
    repository: { type: ["object", "null"] }
  },
  "node_id",
  "number",
  "title"
)
const bug: JsonObject = {
  node_id: "I_kwDOABOBJM5Gx1Zz",
  number: 1347,
  title: "Found a bug",
  body: "It does not add up.",
  state: "OPEN",
  state_reason: null,
  html_url: "https://github.com/octocat/Hello-World/issues/1347",
  created_at: "2026-11-02T09:00:00Z",
  updated_at: "2026-11-02T09:00:00Z",
  labels: [{ name: "bug" }],
  assignees: [{ login: "octocat" }],
  milestone: null,
  repository: {
    node_id: "R_kgDOABOBJA",
    name: "Hello-World",
    full_name: "octocat/Hello-World",
    owner: { login: "octocat" }
  }
}

// --- Comments ---

const commentFields =
  "node_id: id body html_url: url created_at: createdAt updated_at: updatedAt author { login } issue { node_id: id }"
const comment: JsonObject = record(
  {
    node_id: text,
    body: text,
    html_url: text,
    created_at: text,
    updated_at: text,
    issue: record({ node_id: text }, "node_id")
  },
  "node_id",
  "body"
)
const me: JsonObject = {
  node_id: "IC_kwDOABOBJM5G",
  body: "Me too",
  html_url: "https://github.com/octocat/Hello-World/issues/1347#issuecomment-1",
  created_at: "2026-11-02T10:00:00Z",
  updated_at: "2026-11-02T10:00:00Z",
  author: { login: "octocat" },
  issue: { node_id: "I_kwDOABOBJM5Gx1Zz" }
}

const person = record({ login: text, node_id: text, name: nullable("string"), email: nullable("string") }, "login")
const mona: JsonObject = { login: "octocat", node_id: "U_kgDOAAk", name: "Mona", email: "mona@example.com" }

export const nodeActions: ReadonlyArray<ActionManifest> = [
  defineNodeAction({
    name: "getRepositoryNode",
    title: "Get a repository by its global id",
    ...byId,
    query:
      "query getRepositoryNode($id: ID!) { node(id: $id) { ... on Repository { node_id: id name full_name: nameWithOwner html_url: url archived: isArchived created_at: createdAt updated_at: updatedAt owner { login } } } }",
    map: "$.data.node",
    outputSchema: repository,
    mock: hello
  }),
  defineGitHubList({
    name: "listAccountIssues",
    title: "List the issues of all repositories that the account reaches",
    path: "/issues",
    needs: {},
    filters: {
      filter: { type: "string", enum: ["assigned", "created", "mentioned", "subscribed", "repos", "all"] },
      state: { type: "string", enum: ["open", "closed", "all"] },
      labels: texts,
      sort: { type: "string", enum: ["created", "updated", "comments"] },
      direction: { type: "string", enum: ["asc", "desc"] },
      since: { type: "string", format: "date-time" },
      pulls: flag
    },
    outputSchema: list(issue),
    mock: [{ ...bug, state: "open" }]
  }),
  defineNodeAction({
    name: "getIssueNode",
    title: "Get an issue by its global id",
    ...byId,
    query:
      "query getIssueNode($id: ID!) { node(id: $id) { ... on Issue { node_id: id number title body state state_reason: stateReason html_url: url created_at: createdAt updated_at: updatedAt labels(first: 100) { nodes { name } } assignees(first: 20) { nodes { login } } milestone { title due_on: dueOn } repository { node_id: id name full_name: nameWithOwner owner { login } } } } }",
    map: {
      ...membersOf("body.data.node", ...issueMembers),
      labels: "{{body.data.node.labels.nodes}}",
      assignees: "{{body.data.node.assignees.nodes}}"
    },
    outputSchema: issue,
    mock: bug
  }),
  defineNodeAction({
    name: "deleteIssueNode",
    title: "Delete an issue, which an administrator of its repository may",
    ...byId,
    query: "mutation deleteIssueNode($id: ID!) { deleteIssue(input: { issueId: $id }) { clientMutationId } }",
    map: "$.data",
    outputSchema: record(),
    mock: { deleteIssue: { clientMutationId: null } }
  }),
  defineNodeAction({
    name: "getCommentNode",
    title: "Get a comment by its global id",
    ...byId,
    query: `query getCommentNode($id: ID!) { node(id: $id) { ... on IssueComment { ${commentFields} } } }`,
    map: "$.data.node",
    outputSchema: comment,
    mock: me
  }),
  defineNodeAction({
    name: "createCommentNode",
    title: "Comment on an issue that is named by its global id",
    needs: { issueId: text, body: text },
    variables: { id: "{{args.issueId}}", body: "{{args.body}}" },
    query: `mutation createCommentNode($id: ID!, $body: String!) { addComment(input: { subjectId: $id, body: $body }) { commentEdge { node { ${commentFields} } } } }`,
    map: "$.data.addComment.commentEdge.node",
    outputSchema: comment,
    mock: me
  }),
  defineNodeAction({
    name: "updateCommentNode",
    title: "Change a comment by its global id",
    needs: { id: text, body: text },
    variables: { id: "{{args.id}}", body: "{{args.body}}" },
    query: `mutation updateCommentNode($id: ID!, $body: String!) { updateIssueComment(input: { id: $id, body: $body }) { issueComment { ${commentFields} } } }`,
    map: "$.data.updateIssueComment.issueComment",
    outputSchema: comment,
    mock: me
  }),
  defineNodeAction({
    name: "deleteCommentNode",
    title: "Delete a comment by its global id",
    ...byId,
    query: "mutation deleteCommentNode($id: ID!) { deleteIssueComment(input: { id: $id }) { clientMutationId } }",
    map: "$.data",
    outputSchema: record(),
    mock: { deleteIssueComment: { clientMutationId: null } }
  }),
  {
    ...defineNodeAction({
      name: "listMembers",
      title: "List the members of an organization",
      needs: {},
      query:
        "query listMembers($org: String!, $first: Int!, $after: String) { organization(login: $org) { membersWithRole(first: $first, after: $after) { nodes { login node_id: id name email } pageInfo { hasNextPage endCursor } } } }",
      variables: {
        org: "{{args.org ?? connection.config.organization}}",
        first: "{{args.first ?? 100}}",
        after: "{{args.after}}"
      },
      map: "$.data.organization.membersWithRole",
      outputSchema: record({ nodes: list(person) }, "nodes"),
      mock: { nodes: [mona], pageInfo: { hasNextPage: false, endCursor: "Y3Vyc29y" } }
    }),
    description: "Absent, org is the organization of the connection's config.",
    pagination: {
      type: "cursor",
      items: "$.nodes",
      next: "$.data.organization.membersWithRole.pageInfo.endCursor",
      hasMore: "$.data.organization.membersWithRole.pageInfo.hasNextPage",
      param: "after"
    },
    inputSchema: args({ org: owner, first: upTo(100), after: text })
  },
  defineGitHubRead({
    name: "getUser",
    title: "Get a person",
    path: "/users/{{args.login}}",
    needs: { login: owner },
    outputSchema: person,
    mock: mona
  })
]
