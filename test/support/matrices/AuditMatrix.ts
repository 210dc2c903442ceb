/**
 * The audit trail of a caller over every endpoint: a change leaves one entry of its action, a refusal one that says so, and
 * reads are counted, each with the caller as its actor.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import type { Route } from "../../../src/http/pipeline/Routes.js"
import { endpointOf, nameOf, prepareRequest, routes, sendRequest } from "../endpoints.js"
import type { World } from "../endpointWorld.js"
import { eventually } from "../eventually.js"
import type { Answer, Ask } from "../InProcess.js"
import type { TestCaller, TestCallers } from "./TestCaller.js"

let world: World
let full: TestCaller
let powerless: TestCaller

const send = async (route: Route, { credential }: TestCaller): Promise<Answer> => {
  const { inside } = world.sides
  const uses = endpointOf(route).uses
  const side = uses === undefined ? inside : { ...inside, ...(await uses({ world, side: inside, scope: [] })) }
  return sendRequest(world, route, prepareRequest(route, { world, side, scope: [] }), credential)
}

interface Entry {
  readonly action: string
  readonly actor: { readonly type: string; readonly id: string; readonly name: string }
  readonly outcome: string
  readonly requestId: string
}

/** The newest entries of an actor; `later`: the counted ones, too, which are written at the end of their minute. */
const newest = async ({ id }: TestCaller, count: number, later: Ask["later"] = 0): Promise<ReadonlyArray<Entry>> =>
  (
    await world.svc.ask("GET", `/api/v1/audit?actor_id=${id}&page_size=${count}`, {
      key: world.svc.first.key,
      later
    })
  ).body.data

/** The one entry of the request that was answered, which is the actor's last one. */
const entryOf = async (caller: TestCaller, { headers }: Answer): Promise<Entry> => {
  const find = async () => (await newest(caller, 6)).filter(({ requestId }) => requestId === headers["x-request-id"])
  const [entry, ...others] = await eventually(find, (found) => found.length > 0)
  assert.deepStrictEqual(others, [])
  return entry ?? assert.fail("no entry")
}

const actionOf = ({ audit }: Route): string | null =>
  audit === undefined || audit._tag === "NotAudited"
    ? null
    : audit._tag === "Audited"
      ? audit.action
      : `${audit.resource}.read`

/** Further actions of endpoints that change a record where there is one, or make several kinds, by method and path. */
const furtherActions: { readonly [name: string]: ReadonlyArray<string> } = {
  "POST /api/v1/organizations": ["team.create"],
  "POST /api/v1/secrets": ["secret.update"],
  "POST /api/v1/tenants/:tid/credentials": ["credential.rotate"]
}

const isChange = ({ audit }: Route): boolean => audit?._tag === "Audited"
const titled = (found: ReadonlyArray<Route>) => found.map((route) => [nameOf(route), route] as const)

/** Runs the matrix for callers of the world. */
export const auditMatrix = (start: () => Promise<World>, callers: TestCallers) =>
  describe(`the audit trail of a ${callers.noun}`, () => {
    const assertActor = ({ actor }: Entry, { id, name }: TestCaller) =>
      assert.deepInclude(actor, { type: callers.actorType, id, name })

    beforeAll(async () => {
      world = await start()
      full = await callers.make(world.svc)
      powerless = await callers.make(world.svc, { permissions: [] })
    })

    it.each(titled(routes.filter(isChange)))("has one entry of %s", async (_, route) => {
      const entry = await entryOf(full, await send(route, full))
      assert.include([actionOf(route), ...(furtherActions[nameOf(route)] ?? [])], entry.action)
      assertActor(entry, full)
    })

    it.each(titled(routes.filter(({ permit }) => permit !== "anyCaller" && permit !== undefined)))(
      "has one entry of a refused %s",
      async (_, route) => {
        const answer = await send(route, powerless)
        assert.strictEqual(answer.status, 403, answer.text)
        if (actionOf(route) === null) return
        const entry = await entryOf(powerless, answer)
        assert.deepStrictEqual([entry.action, entry.outcome], [actionOf(route), "denied"])
        assertActor(entry, powerless)
      }
    )

    it("counts its reads of every endpoint", async () => {
      const reads = routes.filter((route) => !isChange(route) && actionOf(route) !== null)
      for (const route of reads) await send(route, full)
      // Reading a secret's value is an entry of its own, under the action of reads of secrets.
      const uncounted = new Set(routes.filter(isChange).map(actionOf))
      const actions = [...new Set(reads.map(actionOf))].filter((action) => !uncounted.has(action))
      const found = async (later: Ask["later"]) =>
        (await newest(full, 200, later)).filter(({ action }) => actions.includes(action))
      // The minute ends for all of them at once.
      await eventually(
        () => found("61 seconds"),
        (entries) => entries.length > 0
      )
      const entries = await eventually(
        () => found(0),
        (all) => new Set(all.map(({ action }) => action)).size === actions.length
      )
      for (const entry of entries) assertActor(entry, full)
    })
  })
