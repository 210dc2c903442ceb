/** What a workspace has is named to no key of another workspace of its organisation, by no list. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { surfaceA, surfaceB, surfaceC } from "../../src/http/operations/Surfaces.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"

const name = "canary_of_a_workspace"
/** Names of a workspace's records, in any case. */
const canary = /canary_of_a_workspace/i

let svc: Running
let other: string
beforeAll(async () => {
  svc = await start()
  const { id } = await made("/workspaces", { name: "Other", slug: "other" })
  const otherKey = { name: "other", preset: "full_access", mode: "live", spaceId: id }
  other = (await made("/api-keys", otherKey)).key
  await fill()
})
afterAll(() => svc.stop())

const ask = (method: string, target: string, key: string, body?: object) =>
  svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })

const made = async (target: string, body: object) => {
  const answer = await ask("POST", target, svc.first.key, body)
  assert.isBelow(answer.status, 300, `${target}: ${answer.text}`)
  return answer.body?.data ?? answer.body
}

const published = async (body: object) => {
  const { id } = await made("/workflows", body)
  await made(`/workflows/${id}/publish`, {})
  return String(id)
}

/** Gives the first workspace a record of each kind, and has people told of them. */
const fill = async () => {
  const failing = await published({
    name,
    form: "code",
    code: `export default async (ctx) => {
      if (ctx.input.tell) await svc.notify({ channel: "in_app", subject: "Told by ${name}", body: "b" })
      else throw new Error("${name}")
    }`
  })
  const asking = await published({
    name: `${name}_asks`,
    form: "code",
    tier: "long",
    code: `export default async () => svc.approval("${name}", { message: "?", approvers: ["ada@example.com"] })`
  })
  await made("/secrets", { name: name.toUpperCase(), type: "text", value: "x" })
  await made("/api-keys", { name, preset: "viewer" })
  await made("/notifications", { title: `Made for ${name}` })
  await made("/releases", { name, workflows: [{ workflowId: failing }] })
  const trigger = { type: "event", name, event: { type: `test.${name}` }, routes: [{ workflowId: failing }] }
  const { id } = await made("/triggers", trigger)
  await made("/events", { type: `test.${name}` })
  await made(`/workflows/${asking}/run`, { input: {} })
  await made(`/workflows/${failing}/run`, { input: { tell: true } })
  await shown("/dlq", 1)
  await shown("/approvals", 1)
  await made(`/triggers/${id}/disable`, {})
  await svc.sql(`UPDATE api_keys SET expires_at = now() + interval '1 day' WHERE name = '${name}'`)
  // As the hourly maintenance announces it.
  await svc.sql(`INSERT INTO domain_events (id, org, type, subject, payload)
    SELECT 'evt_expiring', org, 'key.expiring', id, jsonb_build_object('name', name, 'expiresAt', '') FROM api_keys WHERE name = '${name}'`)
  // Made for it, told by a run, of an approval, a dead letter, a trigger and a key.
  await shown("/notifications", 6)
}

/** Waits until the workspace's own list has so many records. */
const shown = (target: string, count: number) =>
  eventually(
    () => ask("GET", target, svc.first.key),
    ({ body }) => body.data.length >= count
  )

const lists = [...surfaceA, ...surfaceB, ...surfaceC]
  .filter(({ method, path }) => method === "GET" && !path.includes(":") && !path.endsWith("/watch"))
  .map(({ path }) => path.slice("/api/v1".length))

/** Those that are of the whole organisation, and so for who manages it. */
const ofOrganisations = new Map([["/audit", "the trail is one chain of an organisation, for settings:manage"]])

describe("a key of another workspace", () => {
  it.each(lists.filter((path) => !ofOrganisations.has(path)))("is named nothing of this one by %s", async (path) => {
    const { body, status, text } = await ask("GET", path, other)
    assert.notMatch(text, canary)
    if (status === 200 && Array.isArray(body.data))
      assert.notMatch((await ask("GET", `${path}?q=${name}`, other)).text, canary)
  })

  it("reads and marks no notification of this one", async () => {
    const { body } = await ask("GET", "/notifications", svc.first.key)
    for (const { id, title } of body.data)
      assert.strictEqual((await ask("GET", `/notifications/${id}`, other)).status, 404, title)
    const marked = await ask("POST", "/notifications/mark-read", other, { all: true })
    assert.deepStrictEqual(marked.body.data, { updated: 0 })
    assert.strictEqual(
      (await ask("POST", "/notifications/mark-read", svc.first.key, { all: true })).body.data.updated,
      body.data.length
    )
  })
})

describe("the workspace's own key", () => {
  it.each([
    "/workflows",
    "/triggers",
    "/api-keys",
    "/secrets",
    "/releases",
    "/executions",
    "/approvals",
    "/dlq",
    "/events",
    "/notifications",
    "/audit"
  ])("is named its records by %s", async (path) => {
    assert.include(lists, path)
    assert.match((await ask("GET", path, svc.first.key)).text, canary)
  })
})
