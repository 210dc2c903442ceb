/** An Idempotency-Key on every POST and PUT of every surface: the request takes effect once. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Route } from "../../src/http/pipeline/Routes.js"
import {
  endpointOf,
  nameOf,
  type Prepared,
  prepareRequest,
  refusalOf,
  routes,
  sendRequest
} from "../support/endpoints.js"
import { startWorld, type World } from "../support/endpointWorld.js"
import { eventually } from "../support/eventually.js"
import type { Answer } from "../support/InProcess.js"

let world: World
let key: string
beforeAll(async () => {
  world = await startWorld()
  key = await world.credentialOf([])
})
afterAll(() => world.stop())

const repeatable = routes.filter(({ method }) => method === "POST" || method === "PUT")
const named = (some: ReadonlyArray<Route>) => some.map((route) => [nameOf(route), route] as const)
const kept = named(repeatable.filter(({ form }) => form.idempotency !== "none"))
/** The key is forwarded: the provider decides about repetitions. */
const passedOn = named(repeatable.filter(({ form }) => form.idempotency === "none"))

const request = async (route: Route): Promise<Prepared> => {
  const asked = { world, side: world.sides.inside, scope: [] }
  const own = await endpointOf(route).uses?.(asked)
  return prepareRequest(route, { ...asked, side: { ...asked.side, ...own } })
}

const send = async (route: Route, { headers, ...rest }: Prepared, name: string): Promise<Answer> => {
  const sent = { ...rest, headers: { ...headers, "idempotency-key": name } }
  return sendRequest(world, route, sent, await world.credentialOf([], endpointOf(route).isForChosen))
}

const isReplay = ({ headers }: Answer): boolean => headers["idempotent-replayed"] === "true"

const assertDone = ({ status, text }: Answer) => assert.isBelow(status, 300, text.slice(0, 400))

/** A body that no other request here has, and that starts a run. */
const another = { input: { another: true } }

const rerun = "POST /api/v1/executions/:eid/rerun"

const assertRepeats = (route: Route, repetition: Answer, first: Answer) => {
  assert.isTrue(isReplay(repetition), repetition.text.slice(0, 400))
  // A re-run is answered with its current execution.
  const shown = ({ body, status, text }: Answer) => [status, nameOf(route) === rerun ? body.data.id : text]
  assert.deepStrictEqual(shown(repetition), shown(first))
}

/** Surface B has no 422. */
const reusedStatus = (route: Route): number => (route.path.startsWith("/api/v1/tenants/") ? 400 : 422)

interface Entry {
  readonly requestId: string
  readonly outcome: string
}

/** The requests with an audit entry of success, once the entry of the last one is written. */
const recorded = async (requests: ReadonlyArray<Answer>, last: Answer): Promise<ReadonlyArray<string>> => {
  const idOf = ({ headers }: Answer) => String(headers["x-request-id"])
  const entries = await eventually(
    async (): Promise<ReadonlyArray<Entry>> =>
      (await world.svc.ask("GET", "/api/v1/audit?page_size=40", { key })).body.data,
    (found) => found.some(({ requestId }) => requestId === idOf(last))
  )
  const ids = requests.map(idOf)
  return entries
    .filter(({ outcome, requestId }) => outcome === "success" && ids.includes(requestId))
    .map(({ requestId }) => requestId)
}

describe.each(kept)("%s under an Idempotency-Key", (name, route) => {
  it("happens once: a repetition is answered like the first, and another body is refused", async () => {
    const asked = await request(route)
    const first = await send(route, asked, `twice ${name}`)
    assertDone(first)
    assert.isFalse(isReplay(first))
    const second = await send(route, asked, `twice ${name}`)
    assertRepeats(route, second, first)
    const other = await send(route, { ...asked, body: another }, `twice ${name}`)
    assert.deepStrictEqual(refusalOf(other), [reusedStatus(route), "IDEMPOTENCY_KEY_REUSED"], other.text)
    assert.deepStrictEqual(await recorded([first, second], other), [String(first.headers["x-request-id"])])
  })

  it("happens once for five concurrent requests: the others get its answer, or that it is in progress", async () => {
    const asked = await request(route)
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(route, asked, `at once ${name}`)))
    const workers = answers.filter((answer) => answer.status < 400 && !isReplay(answer))
    assert.lengthOf(workers, 1, answers.map(({ status, text }) => `${status} ${text.slice(0, 200)}`).join("\n"))
    const [worker] = workers
    if (worker === undefined) return
    for (const answer of answers.filter((one) => one !== worker)) {
      if (isReplay(answer)) assertRepeats(route, answer, worker)
      else assert.strictEqual(refusalOf(answer)[1], "IDEMPOTENCY_IN_PROGRESS", answer.text)
    }
    const repetition = await send(route, asked, `at once ${name}`)
    assertRepeats(route, repetition, worker)
    const other = await send(route, { ...asked, body: another }, `at once ${name}`)
    assert.deepStrictEqual(await recorded([...answers, repetition], other), [String(worker.headers["x-request-id"])])
  })
})

describe.each(passedOn)("%s under an Idempotency-Key", (name, route) => {
  it("forwards the key to the provider each time", async () => {
    const asked = await request(route)
    const before = world.provider.calls.length
    const first = await send(route, asked, `passed on ${name}`)
    const second = await send(route, asked, `passed on ${name}`)
    for (const answer of [first, second]) {
      assertDone(answer)
      assert.isFalse(isReplay(answer))
    }
    assert.deepStrictEqual(
      // A run of an earlier test may call the provider too.
      world.provider.calls
        .slice(before)
        .map(({ idempotencyKey }) => idempotencyKey)
        .filter((key) => key.startsWith("passed on")),
      [`passed on ${name}`, `passed on ${name}`]
    )
  })
})
