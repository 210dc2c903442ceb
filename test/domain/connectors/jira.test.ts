import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { jira as builtIn } from "../../../src/domain/connectors/jira/Jira.js"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import {
  type Caller,
  callEveryAction,
  hasItems,
  hasMembers,
  listOf,
  makeCaller,
  objectOf
} from "../../support/ConnectorCaller.js"
import { makeEntityCaller } from "../../support/EntityCaller.js"
import { documentOf, type JiraFake, jiraFake } from "../../support/fakes/jira.js"

const jira = builtIn.definition()

let api: JiraFake
let ada: Caller

const caller = (username: string, password: string) =>
  makeCaller(jira, api.origin, { method: "token", credential: { username, password }, config: { url: api.origin } })

beforeAll(async () => {
  api = await jiraFake()
  ada = caller("ada@example.com", "ATATT-fake")
})
afterAll(() => api.close())

const isNothing = (result: Json) => assert.isNull(result)
const entity = (name: string) => makeEntityCaller(jira, ada, name)
const fieldsOf = (result: Json) => objectOf(objectOf(result)["fields"])
const newIssue = (summary: string, more: JsonObject = {}) => ({
  fields: { project: { id: "10000" }, issuetype: { name: "Task" }, summary, ...more }
})

describe("Jira", () => {
  it("answers every action", async () => {
    const issueId = String(objectOf(await ada.result("createIssue", newIssue("Valve")))["id"])
    const comment = objectOf(await ada.result("createComment", { issueId, body: "Why?" }))
    const commentId = String(comment["commentId"])
    await callEveryAction(jira, ada, {
      getMyself: [{}, hasMembers({ displayName: "Ada Byron" })],
      listProjects: [{}, hasItems("values", 3)],
      getProject: [{ projectId: "10000" }, hasMembers({ key: "OPS" })],
      listUsers: [{}, (users) => assert.lengthOf(listOf(users), 3)],
      getUser: [{ accountId: "5b10a284" }, hasMembers({ displayName: "Bob" })],
      listFields: [{}, (fields) => assert.lengthOf(listOf(fields), 2)],
      listCreateFields: [{ projectId: "10000", issueTypeId: "10001" }, hasItems("fields", 1)],
      searchIssues: [{ jql: 'created >= "2026-01-01"', fields: ["summary"] }, hasItems("issues", 1)],
      getIssue: [{ issueId }, (issue) => assert.deepInclude(fieldsOf(issue), { summary: "Valve" })],
      createIssue: [
        newIssue("Pump", { description: "It leaks." }),
        (made) => assert.include(objectOf(made)["key"], "OPS-")
      ],
      updateIssue: [{ issueId, fields: { summary: "Valve 2" } }, isNothing],
      listTransitions: [{ issueId }, hasItems("transitions", 3)],
      transitionIssue: [{ issueId, transition: "31" }, isNothing],
      listComments: [{ issueId }, hasItems("comments", 1)],
      getComment: [{ commentId }, hasMembers({ commentId, body: "Why?" })],
      createComment: [{ issueId, body: "Because." }, hasMembers({ issueId, body: "Because." })],
      updateComment: [{ commentId, body: "Why not?" }, hasMembers({ commentId, body: "Why not?" })],
      deleteComment: [{ commentId }, isNothing],
      deleteIssue: [{ issueId }, isNothing]
    })
  })

  it("follows tokens and offsets to the last page", async () => {
    for (let at = 0; at < 4; at += 1) await ada.result("createIssue", newIssue(`Page ${at}`))
    const pages = await ada.pages("searchIssues", { jql: 'created >= "1970-01-01"', maxResults: 2 })
    const ids = pages.flat().map((one) => objectOf(one)["id"])
    assert.strictEqual(new Set(ids).size, api.stored().length)
    assert.lengthOf(ids, api.stored().length)
    const projects = await ada.pages("listProjects", { maxResults: 2 })
    assert.deepStrictEqual(
      projects.map((page) => page.length),
      [2, 1]
    )
    assert.lengthOf((await ada.pages("listUsers", { maxResults: 2 })).flat(), 3)
  })

  it("tells Jira's words, and keeps a comment's place in its path", async () => {
    assert.deepInclude(await ada.failure("searchIssues", { jql: "order by created" }), {
      category: "provider",
      status: 400,
      message: "Unbounded JQL queries are not allowed here."
    })
    const refused = await ada.failure("createIssue", { fields: { summary: "No project" } })
    assert.include(refused.message, "Specify a valid project ID or key")
    assert.deepInclude(await caller("eve@example.com", "x").failure("getMyself"), { category: "auth", status: 401 })
    const outside = await ada.call("getComment", { commentId: "../../myself" }).then(
      () => "sent",
      (error: unknown) => String(error)
    )
    assert.include(outside, "would change the path")
  })
})

describe("Jira's records as common ones", () => {
  it("are projects and people", async () => {
    const projects = (await entity("project").list()).map(({ record }) => [record["key"], record["status"]])
    assert.deepStrictEqual(projects, [
      ["OPS", "active"],
      ["HR", "archived"],
      ["DEV", "active"]
    ])
    assert.deepInclude((await entity("user").get("5b10ac8d")).record, { name: "Ada Byron", email: "ada@example.com" })
    assert.lengthOf(await entity("user").list(), 3)
  })

  it("are tasks, whose description is a text here and a document at Jira", async () => {
    const members: JsonObject = {
      title: "Repair the pump",
      description: "It leaks.\nA lot.",
      projectId: "10000",
      priority: "HIGH",
      assigneeIds: ["5b10ac8d"],
      dueDate: "2026-12-01T00:00:00.000Z",
      labels: ["pump", "leak"]
    }
    const made = await entity("issue").create(members)
    assert.deepInclude(made.record, { ...members, status: "OPEN", rawStatus: "Backlog" })
    const id = String(made.record["id"])
    const stored = () => api.stored().find((one) => one.id === id)?.fields ?? {}
    assert.deepStrictEqual(stored()["description"], documentOf("It leaks.\nA lot."))
    // Jira answers more of these than their ids, and reads the ids first.
    const changed = await entity("issue").update(id, { priority: "URGENT", assigneeIds: ["5b10a284"], labels: [] })
    assert.deepInclude(changed.record, { title: "Repair the pump", priority: "URGENT", assigneeIds: ["5b10a284"] })
    assert.deepStrictEqual(stored()["labels"], [])
    const cleared = await entity("issue").update(id, { description: null, dueDate: null, assigneeIds: [] })
    for (const name of ["description", "dueDate", "assigneeIds"]) assert.isUndefined(cleared.record[name])
    await ada.result("transitionIssue", { issueId: id, transition: "21" })
    assert.deepInclude((await entity("issue").get(id)).record, { status: "IN_PROGRESS", rawStatus: "In Review" })
    await entity("issue").remove(id)
    assert.isFalse(api.stored().some((one) => one.id === id))
  })

  it("are tasks of a project, listed with the fields that the map reads, also those changed after a time", async () => {
    const all = await entity("issue").list()
    assert.lengthOf(all, api.stored().length)
    assert.deepStrictEqual(
      all.flatMap(({ warnings }) => warnings),
      []
    )
    assert.include(api.asked.at(-1)?.query.get("fields"), "summary")
    const [first] = all
    const last = await entity("issue").update(String(first?.record["id"]), { title: "Changed" })
    const changed = await entity("issue").list({ modifiedAfter: String(last.record["remoteUpdatedAt"]) })
    assert.deepStrictEqual(
      changed.map(({ record }) => record["title"]),
      ["Changed"]
    )
    assert.isEmpty(await entity("issue").list({ createdAfter: "2027-01-01T00:00:00.000Z" }))
  })

  it("are comments, whose id names the issue", async () => {
    const { record: task } = await entity("issue").create({ title: "Discussed", projectId: "10000" })
    const made = await entity("comment").create({ taskId: task["id"] ?? "", content: "One.\nTwo." })
    assert.deepInclude(made.record, { taskId: task["id"], content: "One.\nTwo." })
    const id = String(made.record["id"])
    assert.deepInclude((await entity("comment").update(id, { content: "Three." })).record, { id, content: "Three." })
    await entity("comment").remove(id)
    assert.deepInclude(await ada.failure("getComment", { commentId: id }), { status: 404 })
  })
})
