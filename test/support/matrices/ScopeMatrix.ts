/**
 * The scope of a caller, by type of resource and endpoint: requests in scope succeed, others are refused. Generated from
 * the table of endpoints, each of which declares how the scopes apply to it.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import type { ScopeRule } from "../../../src/http/operation/Contract.js"
import type { Route } from "../../../src/http/pipeline/Routes.js"
import type { ScopeType } from "../../../src/domain/access/ResourceScope.js"
import {
  type EndpointRequest,
  endpointOf,
  nameOf,
  prepareRequest,
  refusalOf,
  routes,
  sendRequest
} from "../endpoints.js"
import { endpointTable } from "../endpointTable.js"
import type { Scope, Side, World } from "../endpointWorld.js"
import { eventually } from "../eventually.js"
import type { Answer } from "../InProcess.js"
import { listingOf } from "../listings.js"
import { promised } from "../promises.js"
import { isLong } from "../longForm.js"

let world: World
let inside: Side
let outside: Side
// --- Scopes ---

const ofSide: { readonly [T in ScopeType]: (side: Side) => ReadonlyArray<string> } = {
  connector: ({ connector }) => [connector],
  connection: ({ connection }) => [connection],
  workflow: ({ workflow }) => [workflow],
  secret: ({ secret }) => [secret],
  environment: ({ environment, ownEnvironmentSlug, spareEnvironmentSlug }) => [
    environment,
    ownEnvironmentSlug,
    spareEnvironmentSlug
  ],
  widget: ({ widget }) => [widget]
}
const types: ReadonlyArray<ScopeType> = ["connector", "connection", "workflow", "widget", "secret", "environment"]

/** A publication takes effect in several environments. */
const environmentsOf = (route: Route, side: Side) =>
  route.path.endsWith("/workflows/:wid/publish") && side === inside ? ["live", "test"] : ofSide.environment(side)

const scopeOf = (type: ScopeType, side: Side): Scope => [{ type, ids: ofSide[type](side) }]

const reachingScope = (route: Route, type: ScopeType, side: Side): Scope =>
  type === "environment" ? [{ type, ids: environmentsOf(route, side) }] : scopeOf(type, side)

// --- Requests ---

const credentialOf = (route: Route, scope: Scope) => world.credentialOf(scope, endpointOf(route).isForChosen)

const ask = async (route: Route, { scope, side, type }: Omit<EndpointRequest, "world">): Promise<Answer> =>
  sendRequest(world, route, prepareRequest(route, { world, side, scope, type }), await credentialOf(route, scope))

/** The side whose records the request may consume. */
const withOwn = async (route: Route, side: Side, scope: Scope, type?: ScopeType): Promise<Side> => {
  const uses = endpointOf(route).uses
  return uses === undefined ? side : { ...side, ...(await uses({ world, side, scope, type })) }
}

const assertAnswered = (route: Route, { status, text }: Answer) =>
  assert.isTrue(status < 400 || endpointOf(route).alsoAnswers?.includes(status), `${status} ${text.slice(0, 400)}`)

const assertRefused = (answer: Answer) => {
  promised("a caller gets what is out of its scope", () =>
    assert.isAtLeast(answer.status, 400, answer.text.slice(0, 400))
  )
  assert.deepStrictEqual(refusalOf(answer), [403, "RESOURCE_OUT_OF_SCOPE"], answer.text.slice(0, 400))
}

// --- Lists ---

/** Everything that a list shows to a caller, over all pages. */
const listed = async (route: Route, side: Side, scope: Scope): Promise<ReadonlyArray<string>> => {
  const { itemsOf } = listingOf(route, world)
  const key = await world.credentialOf(scope)
  const base = prepareRequest(route, { world, side, scope })
  const found: Array<string> = []
  for (let cursor = ""; ;) {
    const answer = await sendRequest(
      world,
      route,
      { ...base, target: `${base.target}?page_size=1&cursor=${cursor}` },
      key
    )
    assert.strictEqual(answer.status, 200, answer.text)
    found.push(...itemsOf(answer))
    const page = answer.body.page
    if (page === undefined || !page.hasMore) return found
    assert.lengthOf(itemsOf(answer), 1)
    cursor = page.nextCursor
  }
}

const showsOwnOnly = async (route: Route, type: ScopeType) => {
  const { item } = listingOf(route, world)
  const [ofInside, ofOutside] = [await listed(route, inside, []), await listed(route, outside, [])]
  assert.include(ofInside, item(inside))
  for (const [own, other] of [
    [inside, outside],
    [outside, inside]
  ] as const)
    for (const [side, all] of [
      [inside, ofInside],
      [outside, ofOutside]
    ] as const) {
      const shown = await listed(route, side, scopeOf(type, own))
      assert.strictEqual(shown.includes(item(own)), all.includes(item(own)), `${item(own)} in ${shown}`)
      promised("a list shows what is out of scope", () => assert.notInclude(shown, item(other)))
    }
}

/** What a reconciliation counts for a caller. */
const counted = async (route: Route, side: Side, scope: Scope): Promise<number> => {
  const answer = await ask(route, { side, scope })
  assert.strictEqual(answer.status, 200, answer.text)
  assert.isEmpty(answer.body.data.unaccounted, answer.text)
  return answer.body.data.accepted
}

const countsOwnOnly = async (route: Route, type: ScopeType) => {
  const [own, ofOther] = [scopeOf(type, inside), scopeOf(type, outside)]
  const all = await counted(route, inside, [])
  const shown = await counted(route, inside, own)
  assert.isAbove(shown, 0)
  // On surface B all events of the side are its own.
  if (route.path.includes("/tenants/")) assert.strictEqual(await counted(route, inside, ofOther), 0)
  else assert.isAtLeast(all, shown + (await counted(route, inside, ofOther)))
  assert.isAbove(await counted(route, outside, ofOther), 0)
}

// --- Rules ---

const bindsRecord = async (route: Route, type: ScopeType) => {
  const narrow = scopeOf(type, inside)
  const foreign = await withOwn(route, outside, narrow, type)
  assertRefused(await ask(route, { side: foreign, scope: narrow, type }))
  const own = await withOwn(route, inside, reachingScope(route, type, inside), type)
  assertAnswered(route, await ask(route, { side: own, scope: reachingScope(route, type, own), type }))
}

const isClosed = async (route: Route, type: ScopeType) => {
  const scope = scopeOf(type, inside)
  assertRefused(await ask(route, { side: inside, scope, type }))
  const side = await withOwn(route, inside, [])
  assertAnswered(route, await ask(route, { side, scope: [] }))
}

/** The secret of the side as the run of an endpoint reads it. */
const readBy = async (route: Route, side: Side): Promise<string> => {
  const scope = scopeOf("secret", inside)
  const read = await endpointOf(route).reads?.({ world, side, scope })
  const { headers, target } = prepareRequest(route, { world, side: { ...side, ...read }, scope })
  const { "x-end-org-id": customer } = headers
  const body = {
    input: { secret: side.secretName },
    ...(customer === undefined ? {} : { environment: side.environment })
  }
  const started = await sendRequest(world, route, { target, body, headers }, await world.credentialOf(scope))
  assert.isBelow(started.status, 300, started.text)
  const { body: ended } = await eventually(
    () =>
      world.svc.ask("GET", `/api/v1/executions/${started.headers["x-svc-execution-id"] ?? started.body.data.id}`, {
        key: world.svc.first.key
      }),
    ({ body: found }) => ["completed", "failed"].includes(found.data?.status)
  )
  return ended.data.status === "completed" ? "completed" : ended.data.error.name
}

/** What becomes of a dead letter of the side when a caller that is narrowed to the inside replays many. */
const replayedBy = async (route: Route, side: Side, type: ScopeType): Promise<string> => {
  const scope = scopeOf(type, inside)
  const { deadLetter } = await world.failedEvent(side)
  const read = (target: string) => world.svc.ask("GET", `/api/v1${target}`, { key: world.svc.first.key })
  const { body: letter } = await read(`/dlq/${deadLetter}`)
  const prepared = prepareRequest(route, { world, side, scope, type })
  const body = { filter: { triggerId: letter.data.triggerId }, ratePerSecond: 100 }
  const started = await sendRequest(world, route, { ...prepared, body }, await world.credentialOf(scope))
  assert.strictEqual(started.status, 202, started.text)
  await eventually(
    () => read(`/dlq-replays/${started.body.data.id}`),
    ({ body: replay }) => replay.data?.status === "finished"
  )
  return (await read(`/dlq/${deadLetter}`)).body.data.status
}

const bindsReplays = async (route: Route, type: ScopeType) => {
  assert.strictEqual(await replayedBy(route, inside, type), "replayed")
  assert.strictEqual(await replayedBy(route, outside, type), "pending")
}

const bindsRun = async (route: Route) => {
  assert.strictEqual(await readBy(route, inside), "completed")
  assert.strictEqual(await readBy(route, outside), "SecretNotFound")
}

const rules: { readonly [R in ScopeRule]: (route: Route, type: ScopeType) => Promise<void> } = {
  path: bindsRecord,
  record: bindsRecord,
  list: showsOwnOnly,
  count: countsOwnOnly,
  create: isClosed,
  closed: isClosed,
  reach: (route, type) => (type === "secret" ? bindsRun(route) : bindsReplays(route, type))
}

// --- Endpoints that scopes do not affect ---

/** An answer without members that differ between any two requests. */
const volatile: ReadonlySet<string> = new Set(["lastUsedAt", "requestId", "nextCursor", "fetchedAt"])
const steady = ({ body, status }: Answer) => ({
  status,
  body: JSON.parse(JSON.stringify(body, (name, value: unknown) => (volatile.has(name) ? undefined : value)))
})

const hasNothingToDo = async (route: Route, type: ScopeType) => {
  const answers: Array<Answer> = []
  const scopes = [scopeOf(type, inside), []]
  for (const scope of scopes) await credentialOf(route, scope)
  for (const scope of scopes) {
    const side = await withOwn(route, outside, scope)
    const answer = await ask(route, { side, scope })
    assertAnswered(route, answer)
    answers.push(answer)
  }
  const [narrowed, whole] = answers
  assert.isTrue(narrowed !== undefined && whole !== undefined)
  if (narrowed === undefined || whole === undefined) return
  if (route.method === "GET" && endpointOf(route).isOfCaller !== true)
    assert.deepStrictEqual(steady(narrowed), steady(whole))
  else assert.strictEqual(narrowed.status, whole.status)
}

/** Lists come first: they are read a record at a time, and every other endpoint makes them longer. */
const isList = ({ scoped }: Route): boolean => Object.values(scoped ?? {}).includes("list")
const inOrder = [...routes.filter(isList), ...routes.filter((route) => !isList(route))]

/** The types of a route; `once`: the first one of each rule. */
const typesOf = ({ scoped }: Route, once: boolean): ReadonlyArray<readonly [ScopeType, ScopeRule | "nothing"]> => {
  const all = types.map((type) => [type, scoped?.[type] ?? "nothing"] as const)
  return once ? [...new Map(all.toReversed().map((one) => [one[1], one])).values()].toReversed() : all
}

/**
 * Runs the matrix for the callers of the world, which begins with the first of its tests and is stopped by the caller.
 * `once`: which type has a rule is the endpoint's, whoever calls, so that callers other than keys try each rule once; the
 * long form tries every type.
 */
export const scopeMatrix = (start: () => Promise<World>, noun: string, { once = false } = {}) => {
  beforeAll(async () => {
    world = await start()
    inside = world.sides.inside
    outside = world.sides.outside
  })

  describe.each(inOrder.map((route) => [nameOf(route), route] as const))("%s", (_, route) => {
    it(`says how the scopes of ${noun}s apply to it, and the test how it is asked`, () => {
      assert.isDefined(route.scoped)
      assert.isDefined(endpointOf(route))
    })

    it.each(typesOf(route, once && !isLong))(`is bound by a ${noun} of one %s: %s`, async (type, rule) => {
      if (rule === "nothing") await hasNothingToDo(route, type)
      else await rules[rule](route, type)
    })
  })

  it("every endpoint that the test can ask for exists", () => {
    const known = new Set(routes.map(nameOf))
    assert.deepStrictEqual(
      Object.keys(endpointTable).filter((name) => !known.has(name)),
      []
    )
  })
}
