import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { partsOf, pathWith, prepareRequest, routes, sentAs } from "../support/endpoints.js"
import { startWorld, type World } from "../support/endpointWorld.js"
import type { Running } from "../support/InProcess.js"
import {
  lackingMatrix,
  neededPermissions,
  presetMatrix,
  unknownIds as unknown
} from "../support/matrices/PermissionMatrix.js"
import { keyCallers } from "../support/matrices/TestCaller.js"

let world: World
let svc: World["svc"]
beforeAll(async () => {
  world = await startWorld()
  svc = world.svc
})
afterAll(() => world.stop())

presetMatrix(() => svc, keyCallers, ["full_access", "developer", "operator", "viewer", "end_user"])
lackingMatrix(() => svc, keyCallers, neededPermissions)

const isId = (text: string): boolean => /^[a-z]+_[0-9a-z]{12,}$/.test(text)

/** Groups whose paths name no record of an organisation. */
const ofProviders: ReadonlySet<string> = new Set(["proxy", "unified", "models"])

describe("ids of another organisation are answered like unknown ids", () => {
  let theirs: { readonly [parameter: string]: string }
  let theirKey = ""
  let mine: Awaited<ReturnType<Running["organisation"]>>

  const webhookIn = (space: string, trigger: string) =>
    `/api/v1/clients/${space}/webhooks/${trigger.replace(/^trg_/, "whk_")}`

  beforeAll(async () => {
    mine = await svc.organisation("Mine")
    theirKey = await world.credentialOf([])
    const side = world.sides.inside
    const connector = await svc.ask("GET", `/api/v1/connectors/${side.connector}`, { key: theirKey })
    theirs = { ...partsOf(side, svc), ctr: connector.body.data.id }
    for (const route of routes.filter(
      ({ group, method, path }) =>
        // A tenant reads only what is its own.
        method === "GET" && /\/:\w+$/.test(path) && !path.startsWith("/api/v1/tenants/") && !ofProviders.has(group)
    )) {
      const { status } = await svc.ask("GET", pathWith(route, theirs), { key: theirKey })
      assert.strictEqual(status, 200, `${route.path} is theirs`)
    }
  })

  /** The answer to a request with these ids, without what differs between any two requests. */
  const asked = async (request: (ids: typeof unknown) => readonly [string, string, unknown?], ids: typeof unknown) => {
    const [method, target, body] = request(ids)
    const { status, text } = await svc.ask(method, target, {
      key: mine.key,
      ...(body === undefined ? {} : { body })
    })
    // Records that the request makes, and the request itself, have new ids and times.
    const settled = text.replace(/"((?:req|rpl|ntf|trg|rte)_[0-9a-z]+|\d{4}-\d\d-\d\dT[^"]+)"/g, '"new"')
    return {
      status,
      text: Object.values(ids)
        .filter(isId)
        .reduce((all, id) => all.replaceAll(id, "ID"), settled)
    }
  }

  it.each<[string, (ids: typeof unknown) => readonly [string, string, unknown?]]>([
    ["events of a trigger", ({ trg }) => ["GET", `/api/v1/events?trigger_id=${trg}`]],
    ["events of a customer", ({ cid }) => ["GET", `/api/v1/events?customer_id=${cid}`]],
    ["dead letters of a trigger", ({ trg }) => ["GET", `/api/v1/dlq?trigger_id=${trg}`]],
    ["dead letters of a customer", ({ cid }) => ["GET", `/api/v1/dlq?customer_id=${cid}`]],
    ["notifications of a customer", ({ cid }) => ["GET", `/api/v1/notifications?customer_id=${cid}`]],
    ["approvals of an execution", ({ eid }) => ["GET", `/api/v1/approvals?execution_id=${eid}`]],
    ["executions of a workflow", ({ wid }) => ["GET", `/api/v1/executions?workflow_id=${wid}`]],
    ["triggers of a workflow", ({ wid }) => ["GET", `/api/v1/triggers?workflow_id=${wid}`]],
    ["triggers of a customer", ({ cid }) => ["GET", `/api/v1/triggers?customer_id=${cid}`]],
    ["the use of a customer's quotas", ({ cid }) => ["GET", `/api/v1/quota/usage?customer_id=${cid}`]],
    ["a replay of a trigger's letters", ({ trg }) => ["POST", "/api/v1/dlq/replay", { filter: { triggerId: trg } }]],
    ["a notification to a customer", ({ cid }) => ["POST", "/api/v1/notifications", { title: "t", customerId: cid }]],
    ["notifications that are read", ({ ntf }) => ["POST", "/api/v1/notifications/mark-read", { ids: [ntf] }]],
    [
      "a trigger on a workflow",
      ({ wid }) => ["POST", "/api/v1/triggers", { type: "webhook", name: "t", routes: [{ workflowId: wid }] }]
    ],
    [
      "a trigger on a connection",
      ({ conn }) => [
        "POST",
        "/api/v1/triggers",
        {
          type: "app_event",
          name: "t",
          routes: [{ workflowId: mine.workflowId }],
          appEvent: { connector: "github", connectionId: conn, event: "issue.opened" }
        }
      ]
    ],
    ["an event for a customer", ({ cid }) => ["POST", "/api/v1/events", { type: "a.b", payload: {}, customerId: cid }]],
    ["their webhook in my workspace", ({ trg = "" }) => ["POST", webhookIn(mine.spaceId, trg), {}]],
    ["their webhook's challenge", ({ trg = "" }) => ["GET", `${webhookIn(mine.spaceId, trg)}?challenge=1`]]
  ])("%s", async (_name, request) => {
    const [foreign, nothing] = [await asked(request, theirs), await asked(request, unknown)]
    assert.deepStrictEqual(foreign, nothing)
  })

  it("and a cursor of theirs shows nothing of theirs", async () => {
    for (const list of ["events", "dlq", "executions", "notifications", "triggers"]) {
      const page = await svc.ask("GET", `/api/v1/${list}?page_size=1`, { key: theirKey })
      const { nextCursor } = page.body.page
      if (list === "events" || list === "dlq") assert.isString(nextCursor, list)
      if (nextCursor === null) continue
      const whole = await svc.ask("GET", `/api/v1/${list}?page_size=200`, { key: theirKey })
      const shown = await svc.ask("GET", `/api/v1/${list}?page_size=200&cursor=${nextCursor}`, { key: mine.key })
      for (const { id } of whole.body.data) assert.notInclude(shown.text, id)
    }
  })

  // The proxy's path is the provider's, and its headers name a connection; they have tests of their own.
  it.each(routes.filter(({ group, path }) => path.includes(":") && !ofProviders.has(group)))(
    "$method $path",
    async (route) => {
      const { body: asked } = prepareRequest(route, { world, side: world.sides.inside, scope: [] })
      const ask = async (ids: typeof unknown) => {
        const { body, status } = await svc.ask(route.method, pathWith(route, ids), {
          ...sentAs({ first: mine }, route.path, mine.key),
          ...(asked === undefined ? {} : { body: asked })
        })
        return { status, code: body.code, message: body.message, details: body.details, members: Object.keys(body) }
      }
      const [foreign, nothing] = [await ask(theirs), await ask(unknown)]
      assert.deepStrictEqual(foreign, nothing)
      assert.deepStrictEqual([foreign.status, foreign.code], [404, "NOT_FOUND"])
    }
  )
})
