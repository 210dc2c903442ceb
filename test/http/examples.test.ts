/** The service accepts every example of the OpenAPI documents unchanged, except for ids. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Contract } from "../../src/http/operation/Contract.js"
import { operations } from "../support/operations.js"
import { documentText } from "../../src/http/Documents.js"
import { isObject, type Json, type JsonObject } from "../../src/domain/Json.js"
import { eventually } from "../support/eventually.js"
import { connectTo, plainCrm, type PlainCrm, publishDefinition, startPlainCrm } from "../support/unified/PlainCrm.js"
import { makeKey } from "../support/keys.js"
import { type Running, start } from "../support/InProcess.js"
import { type Provider, startProvider } from "../support/provider.js"

const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})

interface Example {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly body: Json
  readonly statuses: ReadonlyArray<string>
}

const document: JsonObject = JSON.parse(documentText("all"))

const examples: ReadonlyMap<string, Example> = new Map(
  Object.entries(members(document["paths"])).flatMap(([path, item]) =>
    Object.entries(members(item)).flatMap(([method, told]): ReadonlyArray<readonly [string, Example]> => {
      const { operationId, requestBody, responses } = members(told)
      const { example } = members(members(members(requestBody)["content"])["application/json"])
      const id = String(operationId)
      const statuses = Object.keys(members(responses))
      return example === undefined ? [] : [[id, { id, method: method.toUpperCase(), path, body: example, statuses }]]
    })
  )
)

let svc: Running
let system: Provider
/** Ids by path parameter. */
const ids: { [parameter: string]: string } = {}

beforeAll(async () => {
  system = await startProvider()
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
  Object.assign(ids, {
    oid: svc.first.organisationId,
    tid: svc.first.customerId,
    workflowId: svc.first.workflowId,
    flow_name: "greet",
    ctr: "acme-crm",
    act: "listContacts",
    whk: "contacts",
    path: "contacts"
  })
  await makeFailing()
})
/** Makes every event of the type `test.fails` a dead letter. */
const makeFailing = async () => {
  const ask = (target: string, body: object) => svc.ask("POST", target, { key: svc.first.key, body })
  const workflow = await ask("/api/v1/workflows", {
    name: "fails",
    form: "code",
    code: "export default async () => { throw new Error('no') }"
  })
  const { id } = workflow.body.data
  await ask(`/api/v1/workflows/${id}/publish`, {})
  const trigger = { type: "event", name: "fails", event: { type: "test.fails" }, routes: [{ workflowId: id }] }
  assert.strictEqual((await ask("/api/v1/triggers", trigger)).status, 201)
}
/** A dead letter of the tenant, with its event: each replay needs one of its own. */
const makeDeadLetter = async () => {
  const { customerId, key } = svc.first
  const sent = await svc.ask("POST", "/api/v1/events", {
    key,
    body: { type: "test.fails", customerId }
  })
  const evt: string = sent.body.data.eventId
  const { body } = await eventually(
    () => svc.ask("GET", "/api/v1/dlq", { key }),
    (answer) => answer.body.data.some(({ eventId }: { eventId: string }) => eventId === evt)
  )
  const letter = body.data.find(({ eventId }: { eventId: string }) => eventId === evt)
  return { evt, dlq: String(letter.id) }
}

/** A workflow of version 3, whose published draft another key has replaced. */
const makeDraft = async () => {
  const ask = (method: string, target: string, body: object, key = svc.first.key) =>
    svc.ask(method, `/api/v1/workflows${target}`, { key, body })
  const made = await ask("POST", "", { name: "drafted", form: "code", code: "export default async () => 1" })
  const wid = String(made.body.data.id)
  await ask("POST", `/${wid}/publish`, {})
  const { key } = await makeKey(svc, {})
  await ask("PUT", `/${wid}`, { code: "export default async () => 2" }, key)
  return { wid, n: "2" }
}

/** A flow of one step. */
const makeTestedStep = async () => {
  const spec = { steps: [{ name: "price", type: "action", input: { order: "{{input.order}}" } }] }
  const made = await svc.ask("POST", "/api/v1/workflows", {
    key: svc.first.key,
    body: { name: "tested", form: "steps", spec }
  })
  return { wid: String(made.body.data.id), name: "price" }
}

/** A connection to the connector of the examples. */
const makeTestedConnection = async () => {
  const { customerId, key } = svc.first
  const body = { connector: "acme-crm", customerId, label: "tested", authMethod: "key", credential: { apiKey: "k-1" } }
  const made = await svc.ask("POST", "/api/v1/connections", { key, body })
  return { tested: String(made.body.data.id) }
}

/** A run that waits for the approval of Ada. */
const makeApproval = async () => {
  const { key } = svc.first
  const made = await svc.ask("POST", "/api/v1/workflows", {
    key,
    body: {
      name: "signs",
      form: "steps",
      spec: { steps: [{ name: "s", type: "approval", config: { approvers: ["ada@example.com"], message: "?" } }] }
    }
  })
  const run = await svc.ask("POST", `/api/v1/workflows/${made.body.data.id}/run`, {
    key,
    body: { input: {}, draft: true }
  })
  const eid: string = run.body.executionId
  const { body } = await eventually(
    () => svc.ask("GET", `/api/v1/approvals?execution_id=${eid}`, { key }),
    (answer) => answer.body.data.length > 0
  )
  return { eid, apv: String(body.data[0].id) }
}

/** A CRM of the customer, whose contacts are the records of the examples. */
let crm: PlainCrm | undefined
const connectCrm = async () => {
  crm = await startPlainCrm()
  await publishDefinition(svc, plainCrm("plain-crm"))
  await connectTo(svc, "plain-crm", crm.url)
  return { category: "crm", entity: "contact" }
}

afterAll(async () => {
  await svc.stop()
  await crm?.stop()
  await system.close()
})

/** The example with ids of this service's records. */
const withIds = (value: Json): Json => {
  if (typeof value === "string")
    return value
      .replace(/^cus_01k0{22}a$/, svc.first.customerId)
      .replace(/^conn_01k0{22}a$/, ids["tested"] ?? "")
      .replace(/^wf_0{12}$/, svc.first.workflowId)
      .replace(/^emb_0{43}$/, ids["token"] ?? "")
      .replace("https://api.acme.example/v3", system.url)
  if (Array.isArray(value)) return value.map(withIds)
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, child]) => [name, withIds(child)]))
    : value
}

/** Only a key of chosen customers mints embed tokens. */
const keyFor = async (id: string): Promise<string> => {
  if (id !== "embed.mint") return svc.first.key
  return (await makeKey(svc, { customers: { mode: "subset", ids: [svc.first.customerId] } })).key
}

const send = async (id: string, headers: { readonly [name: string]: string } = {}) => {
  const example = examples.get(id)
  if (example === undefined) throw new Error(`the documents have no example of ${id}`)
  const target = example.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? `{${name}}`)
  assert.notInclude(target, "{", `${id} lacks an id`)
  const key: object = /^\/api\/v1\/(?:tenants\/|\{flow_name\}$)/.test(example.path)
    ? { headers: { ...headers, "x-svc-api-key": svc.first.key, "x-svc-space-id": svc.first.spaceId } }
    : { key: await keyFor(id), headers }
  const answer = await svc.ask(example.method, target, { body: withIds(example.body), ...key })
  assert.isBelow(answer.status, 300, `${id}: ${answer.text}`)
  if (!example.statuses.includes("default")) assert.include(example.statuses, String(answer.status), id)
  return answer
}

/** The operations with an example, in an order in which their records exist. */
const order = operations.filter(({ example }) => example !== undefined)

/** Of operations whose path is not that of the records that they make. */
const elsewhere: { readonly [id: string]: string } = { "run.run": "eid", "users.invite": "uid" }

const idOf = ({ group, name }: Contract): string => `${group}.${name}`

/** The parameter that names the record that an operation makes: the one of the paths below its own. */
const givenBy = (operation: Contract): string | undefined => {
  const { method, path } = operation
  // The start of a run names its workflow otherwise.
  const below = operations.find((one) => one.path.startsWith(`${path}/:`) && !one.path.includes(":workflowId"))
  if (method !== "POST" || below === undefined) return elsewhere[idOf(operation)]
  return /^:(\w+)/.exec(below.path.slice(path.length + 1))?.[1]
}

describe("every example of the documents", () => {
  it("is in the documents", () => {
    assert.sameMembers(order.map(idOf), [...examples.keys()])
  })

  it.each(order.map((one) => [idOf(one), givenBy(one)] as const))("%s is taken", async (id, gives) => {
    if (/eadLetters\.replay$|tenantEvents\.replay$/.test(id)) Object.assign(ids, await makeDeadLetter())
    if (id === "approvals.decide") Object.assign(ids, await makeApproval())
    if (id === "drafts.testStep") Object.assign(ids, await makeTestedStep())
    if (id === "webhookTests.run") Object.assign(ids, await makeTestedConnection())
    if (id === "drafts.restore") Object.assign(ids, await makeDraft())
    if (id === "unified.create") Object.assign(ids, await connectCrm())
    const headers = id.startsWith("proxy.")
      ? { "x-svc-connections": ids["connected"] ?? "" }
      : id.startsWith("unified.")
        ? { "x-end-org-id": svc.first.customerId }
        : undefined
    const { body, headers: answered } = await send(id, headers)
    if (id === "credentials.store") ids["connected"] = body.data.connectionId
    if (id === "embed.mint") ids["token"] = body.token
    if (gives !== undefined)
      ids[gives] =
        answered["x-svc-execution-id"] ?? body.data.id ?? body.data.userId ?? body.data.eventId ?? ids[gives] ?? ""
  })
})
