/** Actions of GitHub on issues, comments and pull requests. */
import {
  type ActionManifest,
  flag,
  fromArgs,
  integer,
  list,
  nullable,
  oneOf,
  record,
  text,
  texts,
  time
} from "../SchemaShorthands.js"
import {
  pathInRepository,
  defineGitHubList,
  repositoryArguments,
  defineGitHubRead,
  defineGitHubWrite
} from "./Requests.js"

const person = record({ login: text, id: integer })
const issue = record(
  {
    id: integer,
    number: integer,
    title: text,
    body: nullable("string"),
    state: oneOf("open", "closed"),
    user: { type: ["object", "null"] },
    labels: list({}),
    assignees: list(person),
    html_url: text,
    created_at: time,
    updated_at: time,
    closed_at: nullable("string")
  },
  "id",
  "number",
  "title",
  "state"
)
const bug = {
  id: 1,
  number: 1347,
  title: "Found a bug",
  body: "It does not add up.",
  state: "open",
  user: { login: "octocat", id: 1 },
  labels: [{ id: 208045946, name: "bug", color: "f29513" }],
  assignees: [],
  html_url: "https://github.com/octocat/Hello-World/issues/1347",
  created_at: "2026-11-02T09:00:00Z",
  updated_at: "2026-11-02T09:00:00Z",
  closed_at: null
}
const issueInput = { title: text, body: text, labels: texts, assignees: texts, milestone: nullable("integer") }

const comment = record({ id: integer, body: text, user: { type: ["object", "null"] }, created_at: time }, "id", "body")
const me = { id: 1, body: "Me too", user: { login: "octocat", id: 1 }, created_at: "2026-11-02T10:00:00Z" }

const branch = record({ ref: text, sha: text })
const pull = record(
  {
    id: integer,
    number: integer,
    title: text,
    state: oneOf("open", "closed"),
    draft: flag,
    merged_at: nullable("string"),
    html_url: text,
    head: branch,
    base: branch
  },
  "id",
  "number",
  "state"
)
const change = {
  id: 1,
  number: 1348,
  title: "Repair the sum",
  state: "open",
  draft: false,
  merged_at: null,
  html_url: "https://github.com/octocat/Hello-World/pull/1348",
  head: { ref: "repair", sha: "6dcb09b5b57875f334f61aebed695e2e4193db5e" },
  base: { ref: "main", sha: "c5b97d5ae6c19d5c5df71a34c7fbeeda2479ccbc" }
}

const numbered = { ...repositoryArguments, number: integer }

const withoutQuery = { per_page: "{{args.per_page ?? 100}}", ...fromArgs("page", "sort", "order") }
const searchIssues = defineGitHubList({
  name: "searchIssues",
  title: "Search issues and pull requests",
  path: "/search/issues",
  needs: { q: text },
  filters: { sort: oneOf("comments", "created", "updated"), order: oneOf("asc", "desc") },
  items: "$.items",
  outputSchema: record({ total_count: integer, incomplete_results: flag, items: list(issue) }, "total_count", "items"),
  mock: { total_count: 1, incomplete_results: false, items: [bug] }
})

/** Version 1 of `searchIssues` sends no query, which GitHub refuses. */
export const earlierIssueActions: ReadonlyArray<ActionManifest & { readonly version: number }> = [
  { ...searchIssues, version: 1, request: { ...searchIssues.request, query: withoutQuery } }
]

export const issueActions: ReadonlyArray<ActionManifest> = [
  defineGitHubList({
    name: "listIssues",
    title: "List a repository's issues and pull requests",
    path: pathInRepository("/issues"),
    needs: repositoryArguments,
    filters: {
      state: oneOf("open", "closed", "all"),
      labels: texts,
      assignee: text,
      creator: text,
      since: time,
      sort: oneOf("created", "updated", "comments"),
      direction: oneOf("asc", "desc")
    },
    outputSchema: list(issue),
    mock: [bug]
  }),
  { ...searchIssues, version: 2 },
  defineGitHubRead({
    name: "getIssue",
    title: "Get an issue",
    path: pathInRepository("/issues/{{args.number}}"),
    needs: numbered,
    outputSchema: issue,
    mock: bug
  }),
  defineGitHubWrite({
    name: "createIssue",
    title: "Create an issue",
    path: pathInRepository("/issues"),
    needs: repositoryArguments,
    writable: issueInput,
    required: ["title"],
    outputSchema: issue,
    mock: bug
  }),
  defineGitHubWrite({
    name: "updateIssue",
    title: "Change, close or reopen an issue",
    method: "PATCH",
    path: pathInRepository("/issues/{{args.number}}"),
    needs: numbered,
    writable: {
      ...issueInput,
      state: oneOf("open", "closed"),
      state_reason: oneOf("completed", "not_planned", "duplicate", "reopened")
    },
    outputSchema: issue,
    mock: { ...bug, state: "closed" }
  }),
  defineGitHubList({
    name: "listIssueComments",
    title: "List an issue's comments",
    path: pathInRepository("/issues/{{args.number}}/comments"),
    needs: numbered,
    filters: { since: time },
    outputSchema: list(comment),
    mock: [me]
  }),
  defineGitHubWrite({
    name: "createIssueComment",
    title: "Comment on an issue or a pull request",
    path: pathInRepository("/issues/{{args.number}}/comments"),
    needs: numbered,
    writable: { body: text },
    required: ["body"],
    outputSchema: comment,
    mock: me
  }),
  defineGitHubList({
    name: "listPullRequests",
    title: "List a repository's pull requests",
    path: pathInRepository("/pulls"),
    needs: repositoryArguments,
    filters: {
      state: oneOf("open", "closed", "all"),
      head: text,
      base: text,
      sort: oneOf("created", "updated", "popularity", "long-running"),
      direction: oneOf("asc", "desc")
    },
    outputSchema: list(pull),
    mock: [change]
  }),
  defineGitHubRead({
    name: "getPullRequest",
    title: "Get a pull request",
    path: pathInRepository("/pulls/{{args.number}}"),
    needs: numbered,
    outputSchema: pull,
    mock: change
  }),
  defineGitHubWrite({
    name: "createPullRequest",
    title: "Open a pull request",
    path: pathInRepository("/pulls"),
    needs: repositoryArguments,
    writable: { title: text, body: text, head: text, base: text, draft: flag, maintainer_can_modify: flag },
    required: ["title", "head", "base"],
    outputSchema: pull,
    mock: change
  }),
  defineGitHubWrite({
    name: "updatePullRequest",
    title: "Change or close a pull request",
    method: "PATCH",
    path: pathInRepository("/pulls/{{args.number}}"),
    needs: numbered,
    writable: { title: text, body: text, state: oneOf("open", "closed"), base: text },
    outputSchema: pull,
    mock: change
  }),
  defineGitHubWrite({
    name: "mergePullRequest",
    title: "Merge a pull request",
    method: "PUT",
    path: pathInRepository("/pulls/{{args.number}}/merge"),
    needs: numbered,
    writable: { commit_title: text, commit_message: text, sha: text, merge_method: oneOf("merge", "squash", "rebase") },
    outputSchema: record({ sha: text, merged: flag, message: text }, "merged"),
    mock: { sha: "6dcb09b5b57875f334f61aebed695e2e4193db5e", merged: true, message: "Pull Request successfully merged" }
  })
]
