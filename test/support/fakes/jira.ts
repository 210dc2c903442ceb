/**
 * Jira Cloud: a query needs a condition, pages of a search have tokens, fields are answered where they are asked for; texts
 * are Atlassian documents, which version 2 of the API turns from and into text; the status changes by transitions.
 */
import { type Fake, type FakeRequest, type Reply, startFake } from "./Fake.js"

type Members = Record<string, unknown>

interface Issue {
  readonly id: string
  readonly key: string
  /** As version 3 has them. */
  fields: Members
}

interface Comment {
  readonly id: string
  body: unknown
  readonly created: string
  updated: string
}

const ada = { accountId: "5b10ac8d", displayName: "Ada Byron", emailAddress: "ada@example.com", active: true }
const people = [
  { ...ada, accountType: "atlassian" },
  { accountId: "5b10a284", accountType: "atlassian", displayName: "Bob", active: true },
  { accountId: "557058:f5", accountType: "app", displayName: "Slack", active: true }
]
const projects = ["OPS", "HR", "DEV"].map((key, at) => ({
  id: String(10_000 + at),
  key,
  name: `Project ${key}`,
  projectTypeKey: "software",
  ...(key === "HR" ? { archived: true } : {})
}))
const statuses: Readonly<Record<string, Members>> = {
  "11": { id: "1", name: "Backlog", statusCategory: { key: "new" } },
  "21": { id: "3", name: "In Review", statusCategory: { key: "indeterminate" } },
  "31": { id: "5", name: "Done", statusCategory: { key: "done" } }
}
const priorityNames = ["Highest", "High", "Medium", "Low", "Lowest"]

/** The document of a text: a paragraph for each line. */
export const documentOf = (text: string) => ({
  type: "doc",
  version: 1,
  content: text.split("\n").map((line) => ({
    type: "paragraph",
    content: line === "" ? [] : [{ type: "text", text: line }]
  }))
})

/** The text of a document. */
const textOf = (document: unknown): string | null =>
  document === null || document === undefined
    ? null
    : listIn(objectIn(document)["content"])
        .map((paragraph) =>
          listIn(objectIn(paragraph)["content"])
            .map((one) => String(objectIn(one)["text"] ?? ""))
            .join("")
        )
        .join("\n")

const objectIn = (value: unknown): Members =>
  typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {}
const listIn = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const refused = (status: number, errorMessages: ReadonlyArray<string>, errors: Members = {}): Reply => ({
  status,
  json: { errorMessages, errors }
})
const noIssue = () => refused(404, ["Issue does not exist or you do not have permission to see it."])

const credential = `Basic ${Buffer.from("ada@example.com:ATATT-fake").toString("base64")}`

export interface JiraFake extends Fake {
  readonly stored: () => ReadonlyArray<Issue>
}

export const jiraFake = async (): Promise<JiraFake> => {
  const issues: Array<Issue> = []
  const comments = new Map<string, Array<Comment>>()
  let lastId = 10_001
  let clock = Date.UTC(2026, 9, 1)
  const now = () => new Date((clock += 60_000)).toISOString().replace("Z", "+0000")

  const shownFields = (issue: Issue, wanted: string | null) => {
    const fields: Members = { ...issue.fields, description: textOf(issue.fields["description"]) }
    const names = (wanted ?? "*all").split(",")
    if (names.some((name) => name.startsWith("*"))) return fields
    return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)))
  }
  const shown = (asked: FakeRequest, issue: Issue) => ({
    id: issue.id,
    key: issue.key,
    self: `https://acme.atlassian.net/rest/api/2/issue/${issue.id}`,
    fields: shownFields(issue, asked.query.get("fields"))
  })
  const found = (asked: FakeRequest) =>
    issues.find(({ id, key }) => id === asked.params["id"] || key === asked.params["id"])

  /** Sets fields as Jira reads them: an id counts before a name. Returns what is wrong. */
  const setFields = (issue: Issue, given: Members): Reply | undefined => {
    for (const [name, value] of Object.entries(given)) {
      const members = objectIn(value)
      switch (name) {
        case "status":
          return refused(400, [], { status: "Field 'status' cannot be set. It is not on the appropriate screen." })
        case "description":
          issue.fields[name] = typeof value === "string" ? documentOf(value) : null
          break
        case "priority": {
          const at =
            members["id"] === undefined ? priorityNames.indexOf(String(members["name"])) : Number(members["id"]) - 1
          if (priorityNames[at] === undefined)
            return refused(400, [], { priority: "The priority selected is invalid." })
          issue.fields[name] = {
            id: String(at + 1),
            name: priorityNames[at],
            iconUrl: "https://acme.atlassian.net/x.svg"
          }
          break
        }
        case "assignee": {
          const { accountId = null } = members
          const person = people.find((one) => one.accountId === accountId)
          if (accountId !== null && person === undefined) return refused(400, [], { assignee: "Specify a valid value" })
          issue.fields[name] = person ?? null
          break
        }
        case "parent":
          issue.fields[name] = { id: members["id"], key: "OPS-1" }
          break
        default:
          issue.fields[name] = value
      }
    }
    issue.fields["updated"] = now()
    return undefined
  }

  /** `updated >= 17… and created >= "1970-01-01" order by created`. */
  const matching = (jql: string): ReadonlyArray<Issue> | undefined => {
    const [condition = ""] = jql.split(/ ?order by /)
    if (condition === "") return undefined
    return issues.filter((issue) =>
      condition.split(" and ").every((term) => {
        const [, name = "", quoted, millis = "0"] = /^(\w+) >= (?:"([^"]*)"|(\d+))$/.exec(term) ?? []
        if (name === "") throw new Error(`the fake cannot read the query ${term}`)
        const time = Date.parse(String(issue.fields[name]).replace("+0000", "Z"))
        return time >= (quoted === undefined ? Number(millis) : Date.parse(quoted))
      })
    )
  }
  const page = (asked: FakeRequest, member: string, items: ReadonlyArray<unknown>): Reply => {
    const startAt = Number(asked.query.get("startAt") ?? 0)
    const maxResults = Number(asked.query.get("maxResults") ?? 50)
    return { json: { [member]: items.slice(startAt, startAt + maxResults), startAt, maxResults, total: items.length } }
  }
  const commentOf = (asked: FakeRequest) =>
    comments.get(asked.params["id"] ?? "")?.find(({ id }) => id === asked.params["comment"])
  const shownComment = (comment: Comment) => ({ ...comment, body: textOf(comment.body), author: ada })
  const noComment = () => refused(404, ["Can not find a comment for the id"])

  const fake = await startFake({
    guard: (asked) =>
      asked.headers.authorization === credential || asked.headers.authorization === "Bearer eyJ-fake"
        ? null
        : { status: 401, text: "Client must be authenticated to access this resource." },
    routes: {
      "GET /rest/api/3/myself": () => ({ json: ada }),
      "GET /rest/api/3/project/search": (asked) => page(asked, "values", projects),
      "GET /rest/api/3/project/:id": (asked) => {
        const one = projects.find(({ id, key }) => id === asked.params["id"] || key === asked.params["id"])
        return one === undefined ? refused(404, ["No project could be found with that key."]) : { json: one }
      },
      "GET /rest/api/3/users/search": (asked) => {
        const startAt = Number(asked.query.get("startAt") ?? 0)
        return { json: people.slice(startAt, startAt + Number(asked.query.get("maxResults") ?? 50)) }
      },
      "GET /rest/api/3/user": (asked) => {
        const one = people.find(({ accountId }) => accountId === asked.query.get("accountId"))
        return one === undefined ? refused(404, ["Specified user does not exist"]) : { json: one }
      },
      "GET /rest/api/3/field": () => ({
        json: [
          { id: "summary", key: "summary", name: "Summary", custom: false, schema: { type: "string" } },
          { id: "customfield_10042", name: "Plant", custom: true, schema: { type: "string" } }
        ]
      }),
      "GET /rest/api/3/issue/createmeta/:project/issuetypes/:type": (asked) =>
        page(asked, "fields", [{ fieldId: "summary", key: "summary", name: "Summary", required: true }]),
      "GET /rest/api/2/search/jql": (asked) => {
        const all = matching(asked.query.get("jql") ?? "")
        if (all === undefined) return refused(400, ["Unbounded JQL queries are not allowed here."])
        const from = Number((asked.query.get("nextPageToken") ?? "~0").slice(1))
        const size = Number(asked.query.get("maxResults") ?? 50)
        const isLast = from + size >= all.length
        return {
          json: {
            issues: all.slice(from, from + size).map((issue) => shown(asked, issue)),
            isLast,
            ...(isLast ? {} : { nextPageToken: `~${from + size}` })
          }
        }
      },
      "POST /rest/api/2/issue": (asked) => {
        const fields = objectIn(asked.json()["fields"])
        const project = projects.find(({ id }) => id === objectIn(fields["project"])["id"])
        if (project === undefined) return refused(400, [], { project: "Specify a valid project ID or key" })
        if (typeof fields["summary"] !== "string")
          return refused(400, [], { summary: "You must specify a summary of the issue." })
        if (fields["issuetype"] === undefined) return refused(400, [], { issuetype: "Specify an issue type" })
        const id = String(++lastId)
        const created = now()
        const issue: Issue = {
          id,
          key: `${project.key}-${id}`,
          fields: { description: null, assignee: null, labels: [], duedate: null, created, status: statuses["11"] }
        }
        const mistake = setFields(issue, { priority: { id: "3" }, ...fields })
        if (mistake !== undefined) return mistake
        issue.fields["project"] = project
        issues.push(issue)
        return { status: 201, json: { id, key: issue.key, self: `https://acme.atlassian.net/rest/api/2/issue/${id}` } }
      },
      "GET /rest/api/2/issue/:id": (asked) => {
        const issue = found(asked)
        return issue === undefined ? noIssue() : { json: shown(asked, issue) }
      },
      "PUT /rest/api/2/issue/:id": (asked) => {
        const issue = found(asked)
        if (issue === undefined) return noIssue()
        return setFields(issue, objectIn(asked.json()["fields"])) ?? { status: 204 }
      },
      "DELETE /rest/api/2/issue/:id": (asked) => {
        const at = issues.findIndex(({ id }) => id === asked.params["id"])
        if (at < 0) return noIssue()
        issues.splice(at, 1)
        return { status: 204 }
      },
      "GET /rest/api/3/issue/:id/transitions": () => ({
        json: { transitions: Object.entries(statuses).map(([id, to]) => ({ id, name: to["name"], to })) }
      }),
      "POST /rest/api/2/issue/:id/transitions": (asked) => {
        const issue = found(asked)
        const status = statuses[String(objectIn(asked.json()["transition"])["id"])]
        if (issue === undefined) return noIssue()
        if (status === undefined)
          return refused(400, ["It seems that you have tried to perform an illegal workflow operation."])
        issue.fields["status"] = status
        return { status: 204 }
      },
      "GET /rest/api/2/issue/:id/comment": (asked) =>
        page(asked, "comments", (comments.get(asked.params["id"] ?? "") ?? []).map(shownComment)),
      "POST /rest/api/2/issue/:id/comment": (asked) => {
        const issue = found(asked)
        if (issue === undefined) return noIssue()
        const at = now()
        const { body } = asked.json()
        if (typeof body !== "string" || body === "") return refused(400, ["Comment body can not be empty!"])
        const comment = { id: String(++lastId), body: documentOf(body), created: at, updated: at }
        comments.set(issue.id, [...(comments.get(issue.id) ?? []), comment])
        return { status: 201, json: shownComment(comment) }
      },
      "GET /rest/api/2/issue/:id/comment/:comment": (asked) => {
        const comment = commentOf(asked)
        return comment === undefined ? noComment() : { json: shownComment(comment) }
      },
      "PUT /rest/api/2/issue/:id/comment/:comment": (asked) => {
        const comment = commentOf(asked)
        if (comment === undefined) return noComment()
        Object.assign(comment, { body: documentOf(String(asked.json()["body"])), updated: now() })
        return { json: shownComment(comment) }
      },
      "DELETE /rest/api/2/issue/:id/comment/:comment": (asked) => {
        const of = asked.params["id"] ?? ""
        if (commentOf(asked) === undefined) return noComment()
        comments.set(
          of,
          (comments.get(of) ?? []).filter(({ id }) => id !== asked.params["comment"])
        )
        return { status: 204 }
      }
    }
  })
  return { ...fake, stored: () => issues }
}
