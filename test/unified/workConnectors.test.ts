/**
 * The connectors of documents, knowledge bases, project management and messages serve the unified API, each against a fake
 * that behaves as its provider documents.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { ConnectorDefinition } from "../../src/domain/connector/Definition.js"
import { confluence } from "../../src/domain/connectors/confluence/Confluence.js"
import { github } from "../../src/domain/connectors/github/GitHub.js"
import { googleDrive } from "../../src/domain/connectors/google-drive/GoogleDrive.js"
import { jira } from "../../src/domain/connectors/jira/Jira.js"
import { slack } from "../../src/domain/connectors/slack/Slack.js"
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { confluenceFake } from "../support/fakes/confluence.js"
import type { Fake } from "../support/fakes/Fake.js"
import { githubFake } from "../support/fakes/github.js"
import { googleDriveFake } from "../support/fakes/googleDrive.js"
import { jiraFake } from "../support/fakes/jira.js"
import { slackFake } from "../support/fakes/slack.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { asOwnConnector } from "../support/unified/OwnConnector.js"
import { connectTo, publishDefinition } from "../support/unified/PlainCrm.js"

/** Records of an entity that are created, and what is changed of each. */
interface Row {
  readonly entity: string
  readonly record: JsonObject
  /** The record that it belongs to, and the member with its id. */
  readonly parent?: { readonly entity: string; readonly record: JsonObject; readonly member: string }
  /** Absent: the entity is created only. */
  readonly change?: JsonObject
  /** Whether the connector lists the entity. */
  readonly isListed?: boolean
  /** What reading a deleted record answers: 404, or 200 where it is in a bin. */
  readonly gone?: 200 | 404
}

interface Provider {
  readonly slug: string
  readonly definition: ConnectorDefinition
  readonly start: () => Promise<Fake>
  readonly key: string
  readonly rows: ReadonlyArray<Row>
  /** Entities that are read only. */
  readonly read: ReadonlyArray<string>
  /** Members of the connection's config. */
  readonly config?: JsonObject
}

const due = "2026-12-01T00:00:00.000Z"

const providers: ReadonlyArray<Provider> = [
  {
    slug: "own-drive",
    definition: googleDrive.definition(),
    start: googleDriveFake,
    key: "ya29.fake",
    rows: [
      {
        entity: "documents/document",
        record: { title: "Offer", mimeType: "application/vnd.google-apps.document", customFields: { deal: "17" } },
        change: { title: "Offer 2", customFields: { state: "sent" } },
        isListed: true,
        gone: 200
      }
    ],
    read: []
  },
  {
    slug: "own-confluence",
    definition: confluence.definition(),
    start: confluenceFake,
    key: "eyJ-fake",
    rows: [
      {
        entity: "knowledge-base/article",
        record: { title: "Pumps", spaceId: "98305", content: "<p>Off.</p>", format: "html", status: "PUBLISHED" },
        change: { title: "Valves" },
        isListed: true,
        gone: 200
      },
      {
        entity: "knowledge-base/comment",
        parent: {
          entity: "knowledge-base/article",
          record: { title: "Discussed", spaceId: "98305", content: "" },
          member: "articleId"
        },
        record: { content: "<p>Why?</p>" },
        change: { content: "<p>Why not?</p>" },
        isListed: true,
        gone: 404
      }
    ],
    read: ["knowledge-base/space", "knowledge-base/comment"]
  },
  {
    slug: "own-jira",
    definition: jira.definition(),
    start: jiraFake,
    key: "eyJ-fake",
    rows: [
      {
        entity: "project-management/task",
        record: {
          title: "Repair the pump",
          description: "It leaks.\nA lot.",
          projectId: "10000",
          priority: "HIGH",
          assigneeIds: ["5b10ac8d"],
          dueDate: due,
          labels: ["pump"]
        },
        change: { priority: "LOW", labels: ["pump", "leak"] },
        isListed: true,
        gone: 404
      },
      {
        entity: "project-management/comment",
        parent: {
          entity: "project-management/task",
          record: { title: "Discussed", projectId: "10000" },
          member: "taskId"
        },
        record: { content: "One.\nTwo." },
        change: { content: "Three." },
        gone: 404
      }
    ],
    read: ["project-management/project", "project-management/user"]
  },
  {
    slug: "own-github",
    definition: github.definition(),
    start: githubFake,
    key: "ghp_fake",
    config: { organization: "acme" },
    rows: [
      {
        entity: "project-management/task",
        record: {
          title: "Repair the sum",
          description: "It does not add up.",
          projectId: "R_1",
          assigneeIds: ["ada"],
          labels: ["bug"],
          status: "OPEN"
        },
        change: { status: "DONE", labels: ["bug", "sums"] },
        isListed: true,
        gone: 404
      },
      {
        entity: "project-management/comment",
        parent: {
          entity: "project-management/task",
          record: { title: "Discussed", projectId: "R_1" },
          member: "taskId"
        },
        record: { content: "One." },
        change: { content: "Two." },
        gone: 404
      }
    ],
    read: ["project-management/project", "project-management/user"]
  },
  {
    slug: "own-slack",
    definition: slack.definition(),
    start: slackFake,
    key: "xoxb-fake",
    rows: [
      { entity: "messaging/channel-message", record: { channelId: "C1", text: "Hi" } },
      { entity: "messaging/direct-message", record: { userId: "U2", text: "Hi" } },
      { entity: "messaging/direct-message", record: { email: "u3@example.com", text: "Hi" } }
    ],
    read: []
  }
]

let svc: Running
const fakes: Array<Fake> = []
beforeAll(async () => {
  svc = await startShared()
})
afterAll(async () => {
  await svc.stop()
  await Promise.all(fakes.map((fake) => fake.close()))
})

const bearer = { name: "Authorization", value: "Bearer {{credential.apiKey}}" }

describe.each(providers)("$definition.name", ({ config = {}, definition, key, read, rows, slug, start }) => {
  let customer: string
  beforeAll(async () => {
    const fake = await start()
    fakes.push(fake)
    const made = await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: slug } })
    customer = made.body.data.id
    const own = asOwnConnector(definition, slug, bearer)
    const properties = { base: { type: "string" }, organization: { type: "string" } }
    const configured = { ...own, connectionConfig: { ...own.connectionConfig, properties } }
    await publishDefinition(svc, configured)
    await connectTo(svc, slug, fake.origin, customer, {
      credential: { apiKey: key },
      config: { base: fake.origin, ...config }
    })
  })

  const ask = (method: string, path: string, body?: unknown) =>
    svc.ask(method, `/api/v1/unified/${path}`, {
      key: svc.first.key,
      headers: { "x-end-org-id": customer },
      ...(body === undefined ? {} : { body })
    })

  it.each(rows)("creates, reads, lists, changes and deletes: $entity", async (row) => {
    const { change, entity, gone, isListed = false, parent, record } = row
    const above = parent === undefined ? undefined : await ask("POST", parent.entity, parent.record)
    const made = await ask("POST", entity, {
      ...record,
      ...(parent === undefined ? {} : { [parent.member]: above?.body.data.id })
    })
    assert.strictEqual(made.status, 201, made.text)
    assert.deepStrictEqual(made.body.meta.warnings, [])
    const id: string = made.body.data.id
    assert.isString(id)
    if (change === undefined) return
    const path = `${entity}/${encodeURIComponent(id)}`
    const got = await ask("GET", path)
    assert.strictEqual(got.status, 200, got.text)
    assertHas(got.body.data, record)
    if (isListed) {
      const list = await ask("GET", `${entity}?page_size=200&modified_after=2020-01-01`)
      assert.strictEqual(list.status, 200, list.text)
      const listed = list.body.data.find((one: JsonObject) => one["id"] === id)
      assert.deepStrictEqual(listed, got.body.data)
    }
    const same = await ask("PATCH", path, record)
    assert.strictEqual(same.status, 200, same.text)
    assert.deepStrictEqual(same.body.data, got.body.data, "what is the same already changes nothing")
    const changed = await ask("PATCH", path, change)
    assert.strictEqual(changed.status, 200, changed.text)
    assertHas((await ask("GET", path)).body.data, { ...record, ...change, ...mergedFields(record, change) })
    assert.strictEqual((await ask("DELETE", path)).status, 204)
    const after = await ask("GET", path)
    if (gone === 200) assert.isTrue(after.body.data.remoteWasDeleted, after.text)
    else if (gone !== undefined) assert.strictEqual(after.status, gone, after.text)
    else assert.notStrictEqual(after.status, 200, after.text)
  })

  if (read.length > 0)
    it.each(read)("lists %s", async (entity) => {
      const list = await ask("GET", entity)
      assert.strictEqual(list.status, 200, list.text)
      assert.deepStrictEqual(list.body.meta.warnings, [])
    })
})

/** Custom fields are merged. */
const mergedFields = (record: JsonObject, change: JsonObject): JsonObject => {
  const [one, other] = [record["customFields"], change["customFields"]]
  return one === undefined ? {} : { customFields: { ...(one as JsonObject), ...(other as JsonObject) } }
}

/** Fails the test if a record lacks a value that was written. */
const assertHas = (found: Readonly<Record<string, Json>>, written: JsonObject): void => {
  for (const [name, value] of Object.entries(written)) assert.deepStrictEqual(found[name], value, name)
}
