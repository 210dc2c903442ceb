/** The calls of embed sessions: how many a minute, and how the audit trail tells of them. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { RateLimits } from "../../src/actors/ports/organisation/RateLimits.js"
import { asWith, openPanel } from "../support/embed.js"
import { startWorld, type World } from "../support/endpointWorld.js"
import { eventually } from "../support/eventually.js"
import type { Running } from "../support/InProcess.js"
import { makeKey } from "../support/keys.js"

let world: World
let svc: Running
let customer: string
beforeAll(async () => {
  world = await startWorld()
  svc = world.svc
  customer = world.sides.inside.customer
})
afterAll(() => world.stop())

const owner = (method: string, target: string) => svc.ask(method, `/api/v1${target}`, { key: svc.first.key })

describe("the calls of a session", () => {
  it("are limited by its own calls a minute, and do not count as its plan's", async () => {
    const { ask } = await openPanel(svc, customer)
    const { headers } = await ask("GET", "/connections")
    assert.strictEqual(headers["x-ratelimit-limit"], "120")
    const answers = await Promise.all(Array.from({ length: 241 }, () => ask("GET", "/connections?page_size=1")))
    // Two minutes may share them.
    assert.include(
      answers.map(({ status }) => status),
      429
    )
    const another = await openPanel(svc, customer)
    assert.strictEqual((await another.ask("GET", "/connections")).status, 200)
  })

  it("share a limit with all other sessions, apart from that of keys", async () => {
    const second = await svc.organisation("Panels", "starter")
    const { organisationId } = second
    const of = { organisationId, accountId: organisationId, caller: null }
    const admit = (more: {
      readonly plan: number | null
      readonly sessions: number | null
      readonly callerId: string
    }) => svc.run(Effect.either(Effect.flatMap(RateLimits, (limits) => limits.admit({ ...of, ...more }))))
    // Of five calls three are in one minute.
    const panels = []
    for (let n = 0; n < 5; n++) panels.push(await admit({ callerId: `ems_${n}`, plan: null, sessions: 2 }))
    assert.isTrue(panels.some(Either.isLeft))
    assert.isTrue(Either.isRight(await admit({ callerId: "key", plan: 1, sessions: null })))
  })

  it("are audited as those of its person, on behalf of its key; its token is in no entry", async () => {
    const { ask, keyId, token } = await openPanel(svc, customer, { userId: "user-17", userName: "Ada" })
    const anonymous = await openPanel(svc, customer)
    const { connection } = world.sides.inside
    for (const panel of [ask, anonymous.ask]) {
      const renamed = await panel("PUT", `/connections/${connection}`, { body: { label: world.unique() } })
      assert.strictEqual(renamed.status, 200, renamed.text)
    }
    assert.strictEqual((await ask("GET", "/customers")).status, 403)
    const of = async (actor: string, action: string) => {
      const [entry] = await eventually(
        async () => (await owner("GET", `/audit?actor_id=${actor}&action=${action}`)).body.data,
        (found) => found.length > 0
      )
      return entry
    }
    const update = await of("user-17", "connection.update")
    assert.deepInclude(update.actor, { type: "user", id: "user-17", name: "Ada", onBehalfOf: keyId })
    assert.strictEqual(update.customerId, customer)
    const refused = await of("user-17", "customer.read")
    assert.deepInclude(refused, { outcome: "denied" })
    const whole = await of(customer, "connection.update")
    assert.deepInclude(whole.actor, { type: "user", id: customer, onBehalfOf: anonymous.keyId })
    const trail = await owner("GET", "/audit?page_size=200")
    assert.isAbove(trail.body.data.length, 10)
    assert.notInclude(trail.text, token)
  })

  it("of a key's other kinds stay as they are: a key is nobody's on behalf", async () => {
    const { id, key } = await makeKey(svc, {})
    await asWith(svc, key)("POST", "/customers", { body: { name: world.unique() } })
    const [entry] = await eventually(
      async () => (await owner("GET", `/audit?actor_id=${id}&action=customer.create`)).body.data,
      (found) => found.length > 0
    )
    assert.deepInclude(entry.actor, { type: "service_account", id, onBehalfOf: null })
  })
})
