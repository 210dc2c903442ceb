/** Nobody hands out more than they hold, by whatever operation, and who has signed in acts as nobody else. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { documentText } from "../../src/http/Documents.js"
import { opened, published, startPeople, stopPeople, svc } from "../support/people.js"
import { cookieOf, origin, signInTo } from "../support/signIn.js"

beforeAll(() => startPeople({ SVC_PUBLIC_URL: origin }))
afterAll(stopPeople)

const { askWith, newLink, newOwner, open } = signInTo(() => svc)
type AskPerson = ReturnType<typeof askWith>

// --- What bodies and queries name ---

interface Operation {
  readonly requestBody?: { readonly content: { readonly [type: string]: { readonly schema: object } } }
  readonly parameters?: ReadonlyArray<{ readonly name?: string }>
}
const document = JSON.parse(documentText("all"))

/** The schema that a reference means. */
const resolved = (schema: object): object => {
  const [, name] = /^#\/components\/schemas\/(.+)$/.exec(String(Reflect.get(schema, "$ref"))) ?? []
  return name === undefined ? schema : document.components.schemas[name]
}
const propertiesOf = (schema: object): ReadonlyArray<string> => {
  const { anyOf = [], properties = {} } = resolved(schema) as {
    readonly anyOf?: ReadonlyArray<object>
    readonly properties?: { readonly [name: string]: { readonly readOnly?: boolean } }
  }
  const sent = Object.entries(properties).filter(([, one]) => one.readOnly !== true)
  return [...sent.map(([name]) => name), ...anyOf.flatMap(propertiesOf)]
}
const operations = Object.entries(
  document.paths as { readonly [path: string]: { readonly [method: string]: Operation } }
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { parameters = [], requestBody }]) => ({
    place: `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
    members: [
      ...parameters.flatMap(({ name }) => name ?? []),
      ...Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => propertiesOf(schema))
    ]
  }))
)
/** The operations with a member that this matches: `place member`. */
const naming = (member: RegExp): ReadonlyArray<string> =>
  [
    ...new Set(
      operations.flatMap(({ members, place }) =>
        members.filter((one) => member.test(one)).map((one) => `${place} ${one}`)
      )
    )
  ].toSorted()

// --- Rights ---

/** May change roles, people and keys, and little else. */
const narrow = { settings: ["read", "manage"], users: ["read", "update", "invite", "remove"] }
const wide = { ...narrow, workflows: ["read"] }

describe("an operation with rights in its body", () => {
  /** The body that hands out more than `narrow`, and the one that does not, for each member that gives rights. */
  const bodies: { readonly [operation: string]: readonly [more: object, within: object] } = {
    "POST /api/v1/api-keys permissions": [
      { name: "k", preset: "custom", permissions: wide },
      { name: "k", preset: "custom", permissions: narrow }
    ],
    "POST /api/v1/api-keys preset": [
      { name: "k", preset: "full_access" },
      { name: "k", preset: "custom", permissions: narrow }
    ],
    "POST /api/v1/roles parent": [
      { name: "More", parent: "owner", permissions: { workflows: ["read"] } },
      { name: "Within", parent: "owner", permissions: narrow }
    ],
    "POST /api/v1/roles permissions": [
      { name: "More", parent: "owner", permissions: wide },
      { name: "Within too", parent: "owner", permissions: { users: ["read"] } }
    ],
    "POST /api/v1/users/invite role": [
      { email: "more@example.com", role: "admin" },
      { email: "within@example.com", role: "Narrow" }
    ],
    "PUT /api/v1/api-keys/:kid permissions": [{ permissions: wide }, { permissions: { users: ["read"] } }],
    "PUT /api/v1/roles/:rid permissions": [{ permissions: wide }, { permissions: { users: ["read"] } }],
    "PUT /api/v1/users/:uid roleId": [{ roleId: "admin" }, { roleId: "Narrow" }]
  }

  /** Instead of refusing more than the caller holds, it leaves that out: `embedAccess.test.ts`. */
  const lessening = "POST /api/v1/embed/token permissions"

  it("is one of those that this test asks", () =>
    assert.deepStrictEqual(
      naming(/^(?:permissions|preset|role|roleId|roles|parent|rights)$/).filter((one) => !one.includes("/tenants/")),
      [...Object.keys(bodies), lessening].toSorted()
    ))

  it.each(Object.keys(bodies))(
    "gives nobody more than its caller holds, by a key or a person: %s",
    async (operation) => {
      const [method = "", path = ""] = operation.split(" ")
      const [more, within] = bodies[operation] ?? assert.fail()
      const { cookie, organisation } = await newOwner(operation)
      const owner = askWith(cookie)
      const made = async (target: string, body: object) => {
        const answer = await owner("POST", `/api/v1${target}`, { body })
        assert.strictEqual(answer.status, 201, answer.text)
        return answer.body.data
      }
      await made("/roles", { name: "Narrow", parent: "admin", permissions: narrow })
      const { key } = await made("/api-keys", { name: "narrow", mode: "live", preset: "custom", permissions: narrow })
      await made("/users/invite", { email: "narrow@example.com", role: "Narrow" })
      const person = askWith(cookieOf(await open(await newLink(organisation.organisationId, "narrow@example.com"))))
      const ids: { readonly [parameter: string]: string } = {
        rid: (await made("/roles", { name: "Changed", parent: "admin", permissions: { users: ["read", "invite"] } }))
          .id,
        kid: (await made("/api-keys", { name: "changed", preset: "custom", permissions: narrow })).id,
        uid: (await made("/users/invite", { email: "changed@example.com", role: "Narrow" })).userId
      }
      const target = path.replace(/:(\w+)/, (_, parameter: string) => ids[parameter] ?? assert.fail(parameter))
      const asKey: AskPerson = (...[by, at, ask = {}]) => svc.ask(by, at, { key, ...ask })
      for (const as of [asKey, person]) {
        const refused = await as(method, target, { body: more })
        assert.deepStrictEqual([refused.status, refused.body.code], [403, "FORBIDDEN"], refused.text)
        assert.match(refused.body.message, /cannot grant \w+:\w+, which it does not hold itself/)
      }
      const allowed = await person(method, target, { body: within })
      assert.isBelow(allowed.status, 300, allowed.text)
    }
  )
})

// --- Who acts ---

/** Members with which a request names a person or a key: what they mean. */
const named = new Map([
  ["POST /api/v1/executions/:eid/approvals/:apv actor", "the approver: below"],
  ["POST /api/v1/connections userId", "the organisation's own user whose account it is"],
  ["POST /api/v1/embed/token userId", "the organisation's own user whose session it is"],
  ["POST /api/v1/notifications userId", "who is told"],
  ["POST /api/v1/users/invite email", "who is invited"],
  ["GET /api/v1/audit actor_id", "a filter"],
  ["GET /api/v1/audit actor_type", "a filter"]
])

describe("a member that names a person", () => {
  it("is not who acts, except the approver", () =>
    assert.deepStrictEqual(
      naming(
        /^(?:actor\w*|author|by|user|userId|createdBy|updatedBy|deployedBy|decidedBy|onBehalfOf|requestedBy|email|approver)$/i
      ).filter((one) => !one.includes("/tenants/")),
      [...named.keys()].toSorted()
    ))

  it("as the approver is the person who has signed in, by address, id or not at all; a key names one", async () => {
    const { cookie, organisation } = await newOwner("Approving")
    const owner = askWith(cookie)
    const { key } = organisation
    const signIn = async (email: string) => {
      const invited = await owner("POST", "/api/v1/users/invite", { body: { email, role: "admin" } })
      const session = cookieOf(await open(await newLink(organisation.organisationId, email)))
      return { id: String(invited.body.data.userId), ask: askWith(session) }
    }
    const [ada, bob] = [await signIn("ada@example.com"), await signIn("bob@example.com")]
    const ask = `export default async () => svc.approval("a", { message: "?", approvers: ["ada@example.com", "bob@example.com"] })`
    const workflow = await published({ form: "code", tier: "long", code: ask }, key)
    const newApproval = async () => {
      const run = await svc.ask("POST", `/api/v1/workflows/${workflow}/run`, { key, body: { input: {} } })
      const [approval] = await opened(run.body.executionId, key)
      return `/api/v1/executions/${approval.executionId}/approvals/${approval.id}`
    }
    for (const [actor, by] of [
      [undefined, ada],
      ["Ada@example.com", ada],
      [bob.id, bob]
    ] as const) {
      const target = await newApproval()
      for (const other of by === ada ? ["bob@example.com", bob.id] : ["ada@example.com", ada.id]) {
        const refused = await by.ask("POST", target, { body: { decision: "approve", actor: other } })
        assert.deepStrictEqual([refused.status, refused.body.code], [422, "VALIDATION_FAILED"], refused.text)
        assert.deepInclude(refused.body.details[0], { path: "actor", code: "NOT_ALLOWED" })
        assert.include(refused.body.message, "leave it out")
      }
      const body = { decision: "approve", ...(actor === undefined ? {} : { actor }) }
      const { body: answer, status, text } = await by.ask("POST", target, { body })
      assert.strictEqual(status, 200, text)
      assert.strictEqual(answer.data.actor, by === ada ? "ada@example.com" : "bob@example.com")
      assert.deepInclude(answer.data.decidedBy, { type: "user", id: by.id })
    }
    const target = await newApproval()
    const none = await owner("POST", target, { body: { decision: "approve" } })
    assert.deepInclude(none.body.details[0], { path: "actor", code: "NOT_AN_APPROVER" }, none.text)
    const silent = await svc.ask("POST", target, { key, body: { decision: "approve" } })
    assert.deepInclude(silent.body.details[0], { path: "actor", code: "REQUIRED" }, silent.text)
    const byKey = await svc.ask("POST", target, { key, body: { decision: "approve", actor: "bob@example.com" } })
    assert.deepStrictEqual([byKey.status, byKey.body.data.actor], [200, "bob@example.com"], byKey.text)
    assert.deepInclude(byKey.body.data.decidedBy, { type: "service_account" })
  })
})
