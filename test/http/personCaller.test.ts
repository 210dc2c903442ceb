/**
 * A second kind of caller, defined by this file alone: a person, whose credential the service recognises by the reader
 * below. It passes the matrices of permissions, scopes, customers and audit, as a key does.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { randomBytes } from "node:crypto"
import { Digests } from "../../src/actors/ports/Digests.js"
import { Keys } from "../../src/actors/ports/organisation/Keys.js"
import { CustomerId } from "../../src/domain/Ids.js"
import { incomingBody, refusalLimits } from "../../src/domain/Limits.js"
import { allPermissions, presetPermissions } from "../../src/domain/access/Permission.js"
import { scopeIds } from "../../src/domain/access/ResourceScope.js"
import type { CredentialReader, KnownCredential } from "../../src/http/auth/Credentials.js"
import { startWorld, type World } from "../support/endpointWorld.js"
import { eventually } from "../support/eventually.js"
import type { Ask, Running } from "../support/InProcess.js"
import { auditMatrix } from "../support/matrices/AuditMatrix.js"
import { customerMatrix } from "../support/matrices/CustomerMatrix.js"
import { lackingMatrix, presetMatrix } from "../support/matrices/PermissionMatrix.js"
import { scopeMatrix } from "../support/matrices/ScopeMatrix.js"
import type { CallerRights, TestCaller, TestCallers } from "../support/matrices/TestCaller.js"

// --- The kind ---

const people = new Map<string, KnownCredential>()
let lookups = 0

const reader: CredentialReader = {
  read: (text) =>
    text?.startsWith("person_") !== true
      ? undefined
      : {
          findCached: () => {
            lookups += 1
            return people.get(text)
          },
          find: () => Effect.succeed(Option.none()),
          mayExist: () => Effect.succeed(false),
          unknownMessage: "this session is unknown: sign in"
        }
}

/** The organisation and workspace of the service's first key. */
const homeOf = (svc: Running) =>
  svc.run(
    Effect.gen(function* () {
      const keys = yield* Keys
      const digests = yield* Digests
      const { key, organisation } = Option.getOrThrow(yield* keys.find(digests.keyHash(svc.first.key)))
      return { organisation, spaceId: key.spaceId }
    })
  )

const personOf = (id: string, name: string, rights: CallerRights): KnownCredential["caller"] => {
  const { customers, permissions = "full_access", scope = [] } = rights
  const held = typeof permissions === "string" ? presetPermissions(permissions) : new Set(permissions)
  const reached = customers === undefined ? "all" : new Set(customers.map((one) => CustomerId.make(one)))
  return {
    kind: "person",
    id,
    name,
    permissions: held,
    customers: reached,
    isForCustomers: reached !== "all",
    scope: scopeIds(scope),
    bounds: {
      mode: "live",
      permissions: held,
      customers: reached,
      hmac: false,
      resourceScope: scope,
      allowedIps: [],
      rateLimit: null,
      expiresAt: null
    },
    callsPerMinute: null,
    planCalls: "none",
    person: null,
    embedded: null,
    starter: { keyId: null, keyName: null }
  }
}

let names = 0

const persons: TestCallers = {
  noun: "person",
  actorType: "user",
  readers: [reader],
  make: async (svc, rights = {}) => {
    const id = `usr_${String((names += 1)).padStart(26, "0")}`
    const credential = `person_${randomBytes(16).toString("hex")}`
    const caller = personOf(id, `Person ${names}`, rights)
    people.set(credential, {
      caller,
      ...(await homeOf(svc)),
      refusal: () => undefined,
      verify: undefined,
      recordUse: () => {}
    })
    return { id, name: caller.name, credential }
  }
}

/** Changes what the service knows of the person. */
const amend = ({ credential }: TestCaller, change: (known: KnownCredential) => KnownCredential) => {
  const known = people.get(credential)
  assert.isDefined(known)
  if (known !== undefined) people.set(credential, change(known))
}

// --- The matrices ---

let started: Promise<World> | undefined
const world = () => (started ??= startWorld(persons))
let svc: Running
beforeAll(async () => {
  svc = (await world()).svc
})
afterAll(async () => (await started)?.stop())

presetMatrix(() => svc, persons, ["operator", "viewer"])
lackingMatrix(() => svc, persons, ["workflows:execute", "connections:read"])
scopeMatrix(world, persons.noun, { once: true })
customerMatrix(world)
auditMatrix(world, persons)

// --- What a person leaves behind ---

const ask = ({ credential }: TestCaller, method: string, target: string, more: Ask = {}) =>
  svc.ask(method, `/api/v1${target}`, { key: credential, ...more })

/** `later`: counted entries are written at the end of their minute. */
const entriesOf = async ({ id }: TestCaller, action: string, later: Ask["later"] = 0) =>
  (await svc.ask("GET", `/api/v1/audit?actor_id=${id}&action=${action}`, { key: svc.first.key, later })).body.data

describe("a run that a person starts", () => {
  it.each(["execute", "run"])("has no key, and the person as its audit actor: %s", async (route) => {
    const person = await persons.make(svc)
    const answer = await ask(person, "POST", `/workflows/${svc.first.workflowId}/${route}`, { body: {} })
    assert.isBelow(answer.status, 300, answer.text)
    const id = answer.headers["x-svc-execution-id"] ?? answer.body.data.id
    const { body } = await eventually(
      () => ask(person, "GET", `/executions/${id}`),
      (found) => found.body.data?.status === "completed"
    )
    assert.deepInclude(body.data.trigger, { type: "api", keyId: null, keyName: null })
    const [entry] = await eventually(
      () => entriesOf(person, "workflow.execute"),
      (found) => found.length > 0
    )
    assert.deepInclude(entry.actor, { type: "user", id: person.id, name: person.name })
  })

  it("again has none either", async () => {
    const person = await persons.make(svc)
    const first = await ask(person, "POST", `/workflows/${svc.first.workflowId}/execute`, { body: {} })
    const again = await ask(person, "POST", `/executions/${first.headers["x-svc-execution-id"]}/rerun`, { body: {} })
    assert.isBelow(again.status, 300, again.text)
    const { body } = await ask(person, "GET", `/executions/${again.body.data.id}`)
    assert.deepInclude(body.data.trigger, { type: "rerun", keyId: null, keyName: null })
  })
})

describe("what a person does", () => {
  it("names the person as its author", async () => {
    const person = await persons.make(svc)
    const body = {
      type: "event",
      name: "of a person",
      event: { type: "order.placed" },
      routes: [{ workflowId: svc.first.workflowId }]
    }
    const made = await ask(person, "POST", "/triggers", { body })
    assert.deepStrictEqual([made.status, made.body.data?.createdBy], [201, person.id], made.text)
  })

  it("is repeated by its own Idempotency-Key only", async () => {
    const [one, other] = [await persons.make(svc), await persons.make(svc)]
    const send = (person: TestCaller) =>
      ask(person, "POST", "/customers", { body: { name: "Once" }, headers: { "idempotency-key": "same" } })
    const [first, again, others] = [await send(one), await send(one), await send(other)]
    assert.deepStrictEqual([first.status, again.body.data.id], [201, first.body.data.id])
    assert.notStrictEqual(others.body.data.id, first.body.data.id)
  })

  it("is limited by the person's own calls a minute", async () => {
    const [limited, other] = [await persons.make(svc), await persons.make(svc)]
    amend(limited, (known) => ({
      ...known,
      caller: { ...known.caller, callsPerMinute: 1 }
    }))
    const read = (person: TestCaller) => ask(person, "GET", "/customers")
    // Of three calls two are in one minute.
    const statuses = [(await read(limited)).status, (await read(limited)).status, (await read(limited)).status]
    assert.include(statuses, 429)
    assert.strictEqual((await read(other)).status, 200)
  })

  it("makes keys no wider than the person, who is named as such", async () => {
    const person = await persons.make(svc, { permissions: allPermissions.filter((one) => one !== "secrets:read") })
    const wide = await ask(person, "POST", "/api-keys", { body: { name: "wide", preset: "full_access" } })
    assert.deepStrictEqual(
      [wide.status, wide.body.message],
      [403, "a user cannot grant secrets:read, which it does not hold itself"]
    )
    const viewer = await persons.make(svc, { permissions: "viewer" })
    const refused = await ask(viewer, "POST", "/customers", { body: { name: "no" } })
    assert.match(refused.body.message, /^this user lacks the permission /)
  })

  it("reaches the person's customers only", async () => {
    const { inside, outside } = (await world()).sides
    const person = await persons.make(svc, { customers: [inside.customer] })
    assert.strictEqual((await ask(person, "GET", `/customers/${inside.customer}`)).status, 200)
    assert.strictEqual((await ask(person, "GET", `/customers/${outside.customer}`)).status, 404)
    const shared = await ask(person, "POST", "/customers", { body: { name: "no" } })
    assert.strictEqual(
      shared.body.message,
      "this user is for some customers' data: what all customers share is closed to it"
    )
  })
})

describe("a person's credential", () => {
  const isRefused = async (person: TestCaller, code: string, message: string) => {
    const { body, status } = await ask(person, "GET", "/customers", { from: "192.0.2.77" })
    assert.deepStrictEqual([status, body.code, body.message], [403, code, message])
    const [entry] = await eventually(
      () => entriesOf(person, "user.use", "61 seconds"),
      (found) => found.length > 0
    )
    assert.deepInclude(entry, { outcome: "denied", resource: { type: "user", id: person.id, name: person.name } })
    assert.deepInclude(entry.actor, { type: "user", id: person.id })
  }

  it("is read once for a request with a large body, which is verified whole", async () => {
    const { baseUrl } = await svc.listen()
    const person = await persons.make(svc)
    const verified: Array<number> = []
    amend(person, (known) => ({
      ...known,
      verify: ({ body }) => Effect.sync(() => void verified.push(body instanceof Uint8Array ? body.length : 0))
    }))
    for (const bytes of [10, 2 * incomingBody.unrecognisedBytes]) {
      const body = JSON.stringify({ name: "Large", metadata: { text: "x".repeat(bytes) } })
      const before = lookups
      const answer = await fetch(`${baseUrl}/api/v1/customers`, {
        method: "POST",
        headers: { authorization: `Bearer ${person.credential}`, "content-type": "application/json" },
        body
      })
      // The metadata of a customer may not have as much.
      assert.oneOf(answer.status, [201, 422], await answer.text())
      assert.match(answer.headers.get("x-request-id") ?? "", /^req_/)
      assert.strictEqual(lookups - before, 1)
      assert.strictEqual(verified.pop(), body.length)
      assert.isEmpty(verified)
    }
  })

  it("that does not exist is refused, and beyond the limit 429", async () => {
    const send = (n: number) => svc.ask("GET", "/api/v1/customers", { key: `person_unknown${n}`, from: "192.0.2.66" })
    const first = await send(0)
    assert.deepStrictEqual([first.status, first.body.message], [401, "this session is unknown: sign in"])
    // Two minutes may share them.
    const statuses: Array<number> = []
    for (let n = 0; n < 2 * refusalLimits.unknownCredentials + 1; n++) statuses.push((await send(n)).status)
    assert.include(statuses, 429)
  })

  it("is refused from other addresses than the person's", async () => {
    const person = await persons.make(svc)
    amend(person, (known) => ({
      ...known,
      caller: { ...known.caller, bounds: { ...known.caller.bounds, allowedIps: ["192.0.2.1"] } }
    }))
    await isRefused(person, "IP_NOT_ALLOWED", "this session may not be used from 192.0.2.77")
  })

  it("is refused while the organisation is suspended", async () => {
    const person = await persons.make(svc)
    amend(person, (known) => ({ ...known, organisation: { ...known.organisation, status: "suspended" } }))
    await isRefused(person, "FORBIDDEN", "the organisation is suspended")
  })

  it("is refused beside another one", async () => {
    const { credential } = await persons.make(svc)
    const both = await svc.ask("GET", "/api/v1/customers", {
      key: credential,
      headers: { "x-svc-api-key": svc.first.key }
    })
    assert.strictEqual(both.status, 401)
  })
})
