/**
 * GitHub's GraphQL API over records that have global ids: errors are answered with the status 200, states are in capitals.
 * Issues are listed by the REST API, and created and changed there.
 */
import type { FakeRequest, Reply } from "./Fake.js"

type Members = Record<string, unknown>

const repositories = [
  { node_id: "R_1", name: "hello", full_name: "octocat/hello", archived: false },
  { node_id: "R_2", name: "other", full_name: "octocat/other", archived: true }
].map((one, at) => ({
  ...one,
  id: at + 1,
  html_url: `https://github.com/${one.full_name}`,
  created_at: "2026-01-02T09:00:00Z",
  updated_at: "2026-10-02T09:00:00Z",
  owner: { login: "octocat" }
}))
const members = [
  { login: "octocat", node_id: "U_1", name: "Mona", email: "mona@example.com" },
  { login: "hubot", node_id: "U_2", name: null, email: null },
  { login: "ada", node_id: "U_3", name: "Ada Byron", email: "ada@example.com" }
]

interface Issue extends Members {
  readonly number: number
  readonly node_id: string
}

const failed = (type: string, message: string): Reply => ({ json: { data: null, errors: [{ type, message }] } })
const notFound = (id: unknown) =>
  failed("NOT_FOUND", `Could not resolve to a node with the global id of '${String(id)}'`)
const data = (members: Members): Reply => ({ json: { data: members } })
const namesIn = (value: unknown, member: string) =>
  Array.isArray(value) ? value.map((name: unknown) => ({ [member]: name })) : []

export const githubNodes = () => {
  const issues: Array<Issue> = []
  const comments: Array<Members> = []
  let clock = Date.UTC(2026, 9, 3)
  let last = 99
  const now = () => new Date((clock += 60_000)).toISOString().replace(".000Z", "Z")

  /** The members of an issue as the REST API answers them. */
  const changed = ({ assignees, labels, ...sent }: Members): Members => ({
    ...sent,
    ...(labels === undefined ? {} : { labels: namesIn(labels, "name") }),
    ...(assignees === undefined ? {} : { assignees: namesIn(assignees, "login") }),
    updated_at: now()
  })
  const create = (sent: Members): Issue => {
    const number = ++last
    const at = now()
    const issue = {
      id: number,
      number,
      node_id: `I_${number}`,
      state: "open",
      state_reason: null,
      body: null,
      labels: [],
      assignees: [],
      milestone: null,
      html_url: `https://github.com/octocat/hello/issues/${number}`,
      created_at: at,
      ...changed(sent)
    }
    issues.push(issue)
    return issue
  }
  const update = (number: string | undefined, sent: Members): Issue | undefined => {
    const issue = issues.find((one) => String(one.number) === number)
    return issue === undefined ? undefined : Object.assign(issue, changed(sent))
  }

  const asNode = ({ assignees, labels, state, ...issue }: Issue) => ({
    ...issue,
    state: String(state).toUpperCase(),
    labels: { nodes: labels },
    assignees: { nodes: assignees },
    repository: repositories[0]
  })

  const operations: Readonly<Record<string, (variables: Members) => Reply>> = {
    getRepositoryNode: ({ id }) => {
      const found = repositories.find(({ node_id }) => node_id === id)
      return found === undefined ? notFound(id) : data({ node: found })
    },
    getIssueNode: ({ id }) => {
      const found = issues.find(({ node_id }) => node_id === id)
      return found === undefined ? notFound(id) : data({ node: asNode(found) })
    },
    deleteIssueNode: ({ id }) => {
      const at = issues.findIndex(({ node_id }) => node_id === id)
      if (at < 0) return notFound(id)
      issues.splice(at, 1)
      return data({ deleteIssue: { clientMutationId: null } })
    },
    getCommentNode: ({ id }) => {
      const found = comments.find(({ node_id }) => node_id === id)
      return found === undefined ? notFound(id) : data({ node: found })
    },
    createCommentNode: ({ body, id }) => {
      if (!issues.some(({ node_id }) => node_id === id)) return notFound(id)
      const at = now()
      const node = {
        node_id: `IC_${++last}`,
        body,
        html_url: "https://github.com/octocat/hello/issues/1#issuecomment-1",
        created_at: at,
        updated_at: at,
        author: { login: "octocat" },
        issue: { node_id: id }
      }
      comments.push(node)
      return data({ addComment: { commentEdge: { node } } })
    },
    updateCommentNode: ({ body, id }) => {
      const found = comments.find(({ node_id }) => node_id === id)
      if (found === undefined) return notFound(id)
      return data({ updateIssueComment: { issueComment: Object.assign(found, { body, updated_at: now() }) } })
    },
    deleteCommentNode: ({ id }) => {
      const at = comments.findIndex(({ node_id }) => node_id === id)
      if (at < 0) return notFound(id)
      comments.splice(at, 1)
      return data({ deleteIssueComment: { clientMutationId: null } })
    },
    listMembers: ({ after, first, org }) => {
      if (org !== "acme")
        return failed("NOT_FOUND", `Could not resolve to an Organization with the login of '${String(org)}'.`)
      const from = Number(after ?? 0)
      const size = Number(first)
      const pageInfo = { hasNextPage: from + size < members.length, endCursor: String(from + size) }
      return data({ organization: { membersWithRole: { nodes: members.slice(from, from + size), pageInfo } } })
    }
  }

  return {
    repositories,
    members,
    create,
    update,
    /** As `GET /issues` lists them: those changed since a time. */
    listed: (asked: FakeRequest) =>
      issues
        .filter(({ updated_at }) => String(updated_at) >= (asked.query.get("since") ?? ""))
        .map((issue) => ({ ...issue, repository: repositories[0] })),
    answer: (asked: FakeRequest): Reply => {
      const { query, variables } = asked.json()
      const name = /^(?:query|mutation) (\w+)/.exec(String(query))?.[1] ?? ""
      const operation = operations[name]
      return operation === undefined
        ? failed("undefinedField", `the fake has no ${name}`)
        : operation(Object.fromEntries(Object.entries(variables ?? {})))
    }
  }
}
