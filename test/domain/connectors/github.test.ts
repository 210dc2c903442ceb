import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { readRateHeaders } from "../../../src/domain/connector/request/RateReading.js"
import { github as builtIn } from "../../../src/domain/connectors/github/GitHub.js"
import {
  makeCaller,
  type Caller,
  hasItems,
  callEveryAction,
  hasMembers,
  listOf,
  objectOf
} from "../../support/ConnectorCaller.js"
import { makeEntityCaller } from "../../support/EntityCaller.js"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import type { Fake } from "../../support/fakes/Fake.js"
import { githubFake } from "../../support/fakes/github.js"

const github = builtIn.definition()

let api: Fake
let octocat: Caller

beforeAll(async () => {
  api = await githubFake()
  octocat = makeCaller(github, api.origin, { method: "token", credential: { apiKey: "ghp_fake" } })
})
afterAll(() => api.close())

const hello = { owner: "octocat", repo: "hello" }
const lists = (count: number) => (result: Json) => assert.lengthOf(listOf(result), count)
const isNothing = (result: Json) => assert.isNull(result)

describe("GitHub", () => {
  it("answers every action", async () => {
    const issue = objectOf(await octocat.result("createIssue", { ...hello, title: "Node" }))
    const issueId = String(issue["node_id"])
    const comment = objectOf(await octocat.result("createCommentNode", { issueId, body: "Why?" }))
    const commentId = String(comment["node_id"])
    await callEveryAction(github, octocat, {
      getRepositoryNode: [{ id: "R_1" }, hasMembers({ full_name: "octocat/hello" })],
      listAccountIssues: [{ filter: "repos", state: "all", pulls: false }, lists(1)],
      getIssueNode: [{ id: issueId }, hasMembers({ title: "Node", state: "OPEN", labels: [] })],
      getCommentNode: [{ id: commentId }, hasMembers({ body: "Why?", issue: { node_id: issueId } })],
      createCommentNode: [{ issueId, body: "So." }, hasMembers({ body: "So." })],
      updateCommentNode: [{ id: commentId, body: "Why not?" }, hasMembers({ body: "Why not?" })],
      deleteCommentNode: [{ id: commentId }, hasMembers({ deleteIssueComment: { clientMutationId: null } })],
      deleteIssueNode: [{ id: issueId }, hasMembers({ deleteIssue: { clientMutationId: null } })],
      listMembers: [{ org: "acme", first: 2 }, hasItems("nodes", 2)],
      getUser: [{ login: "ada" }, hasMembers({ name: "Ada Byron" })],
      getAuthenticatedUser: [{}, hasMembers({ login: "octocat" })],
      listRepositories: [{ visibility: "all" }, lists(2)],
      getRepository: [{ ...hello, owner: "mona_acme" }, hasMembers({ full_name: "octocat/hello" })],
      createRepository: [{ name: "new", private: true }, hasMembers({ name: "new", private: true })],
      createOrganizationRepository: [{ org: "acme", name: "new" }, hasMembers({ owner: { login: "acme" } })],
      updateRepository: [{ ...hello, description: "Hi" }, hasMembers({ description: "Hi" })],
      listBranches: [hello, lists(1)],
      listCommits: [{ ...hello, sha: "main" }, lists(1)],
      getContent: [{ ...hello, path: "docs/read me.md", ref: "main" }, hasMembers({ ref: "main" })],
      putContent: [
        { ...hello, path: "docs/read me.md", message: "Hi", content: "SGk=" },
        hasMembers({ commit: { sha: "9f2a" } })
      ],
      listReleases: [hello, lists(1)],
      createRelease: [{ ...hello, tag_name: "v2" }, hasMembers({ tag_name: "v2" })],
      listWorkflowRuns: [hello, hasItems("workflow_runs", 1)],
      dispatchWorkflow: [{ ...hello, workflow: "ci.yml", ref: "main" }, isNothing],
      createWebhook: [
        { ...hello, events: ["push"], config: { url: "https://svc.example/hook" } },
        hasMembers({ id: 5 })
      ],
      deleteWebhook: [{ ...hello, id: 5 }, isNothing],
      listIssues: [hello, lists(4)],
      searchIssues: [{ q: "is:open" }, hasItems("items", 5)],
      getIssue: [{ ...hello, number: 2 }, hasMembers({ title: "Issue 2" })],
      createIssue: [
        { ...hello, title: "New", labels: ["bug"] },
        hasMembers({ title: "New", labels: [{ name: "bug" }] })
      ],
      updateIssue: [{ ...hello, number: 2, state: "closed" }, hasMembers({ state: "closed" })],
      listIssueComments: [{ ...hello, number: 2 }, lists(2)],
      createIssueComment: [{ ...hello, number: 2, body: "Yes" }, hasMembers({ body: "Yes" })],
      listPullRequests: [hello, lists(2)],
      getPullRequest: [{ ...hello, number: 1 }, hasMembers({ title: "Pull 1" })],
      createPullRequest: [{ ...hello, title: "New", head: "a", base: "main" }, hasMembers({ number: 3, title: "New" })],
      updatePullRequest: [{ ...hello, number: 1, title: "Other" }, hasMembers({ title: "Other" })],
      mergePullRequest: [{ ...hello, number: 1, merge_method: "squash" }, hasMembers({ merged: true })]
    })
  })

  it("follows the Link header to the last page, with the filters that it carries", async () => {
    const pages = await octocat.pages("listIssues", { ...hello, per_page: 2, state: "all" })
    assert.deepStrictEqual(
      pages.map((page) => page.map((item) => objectOf(item)["number"])),
      [[1, 2], [3, 4], [5]]
    )
  })

  it("pages through a search, whose items stand in a member", async () => {
    const pages = await octocat.pages("searchIssues", { q: "is:open", per_page: 4 })
    assert.deepStrictEqual(
      pages.map((page) => page.length),
      [4, 1]
    )
  })

  it("keeps a file's path in its place", async () => {
    const refused = await octocat.call("getContent", { ...hello, path: "../../../user" }).then(
      () => "sent",
      (error: unknown) => String(error)
    )
    assert.include(refused, "would change the path")
  })

  it("tells GitHub's words, and a refused token as such", async () => {
    const invalid = await octocat.failure("createIssue", { ...hello, body: "no title" })
    assert.deepInclude(invalid, {
      category: "provider",
      status: 422,
      message: "Validation Failed",
      code: "missing_field"
    })
    assert.deepInclude(await octocat.failure("getIssue", { ...hello, number: 404 }), {
      status: 404,
      message: "Not Found"
    })
    const stranger = makeCaller(github, api.origin, { method: "oauth", credential: { accessToken: "no" } })
    assert.deepInclude(await stranger.failure("getAuthenticatedUser"), { category: "auth", message: "Bad credentials" })
  })

  it("takes the 403 of an exceeded limit for what it is, and waits as long as GitHub asks", async () => {
    const message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    api.plan({ status: 403, headers: { "retry-after": "60" }, json: { message } })
    assert.deepInclude(await octocat.failure("getAuthenticatedUser"), {
      category: "transient",
      status: 403,
      retryAfterMillis: 60_000
    })
  })

  it("reads the limit, what is left of it, and when it starts anew", async () => {
    const { headers } = await octocat.answer("getAuthenticatedUser")
    const reading = readRateHeaders(github, headers, 1_795_244_400_000)
    assert.strictEqual(reading.limit, 5_000)
    assert.isBelow(reading.remaining ?? 5_000, 5_000)
    assert.strictEqual(reading.resetAt, 1_795_245_000_000)
  })
})

describe("GitHub's records as those of project management", () => {
  const entity = (name: string) => makeEntityCaller(github, octocat, name)

  it("are projects", async () => {
    const projects = await entity("repository").list()
    assert.deepStrictEqual(
      projects.map(({ record }) => [record["id"], record["key"], record["status"]]),
      [
        ["R_1", "octocat/hello", "active"],
        ["R_2", "octocat/other", "archived"]
      ]
    )
    assert.deepStrictEqual((await entity("repository").get("R_2")).record, projects[1]?.record)
  })

  it("are tasks, the same whether they are listed or read", async () => {
    const members: JsonObject = {
      title: "Repair the sum",
      description: "It does not add up.",
      projectId: "R_1",
      assigneeIds: ["ada", "octocat"],
      labels: ["bug"],
      status: "OPEN"
    }
    const made = await entity("issue").create(members)
    assert.deepInclude(made.record, { ...members, rawStatus: "open" })
    const id = String(made.record["id"])
    const changed = await entity("issue").update(id, { status: "DONE", labels: ["bug", "sums"], assigneeIds: [] })
    assert.deepInclude(changed.record, { title: "Repair the sum", status: "DONE", labels: ["bug", "sums"] })
    const since = String(changed.record["remoteUpdatedAt"])
    const listed = (await entity("issue").list({ modifiedAfter: since })).filter(({ record }) => record["id"] === id)
    assert.deepStrictEqual(
      listed.map(({ record }) => record),
      [changed.record]
    )
    await entity("issue").remove(id)
    assert.deepInclude(await octocat.failure("getIssueNode", { id }), { category: "provider", code: "NOT_FOUND" })
  })

  it("are comments", async () => {
    const { record: task } = await entity("issue").create({ title: "Discussed", projectId: "R_1" })
    const made = await entity("comment").create({ taskId: task["id"] ?? "", content: "One." })
    assert.deepInclude(made.record, { taskId: task["id"], content: "One." })
    const id = String(made.record["id"])
    assert.deepInclude((await entity("comment").update(id, { content: "Two." })).record, { content: "Two." })
    await entity("comment").remove(id)
    assert.deepInclude(await octocat.failure("getCommentNode", { id }), { code: "NOT_FOUND" })
  })

  it("are people: the members of the organization that the connection's config names", async () => {
    const ofAcme = makeCaller(github, api.origin, {
      method: "token",
      credential: { apiKey: "ghp_fake" },
      config: { organization: "acme" }
    })
    const pages = await ofAcme.pages("listMembers", { first: 2 })
    assert.deepStrictEqual(
      pages.map((page) => page.map((one) => objectOf(one)["login"])),
      [["octocat", "hubot"], ["ada"]]
    )
    const people = await makeEntityCaller(github, ofAcme, "user").list()
    assert.deepInclude(people[2]?.record, { id: "ada", name: "Ada Byron", email: "ada@example.com" })
    assert.deepStrictEqual((await entity("user").get("ada")).record, people[2]?.record)
  })
})
