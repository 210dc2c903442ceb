/** People are changed, disabled and removed, roles too; nobody grants or touches more than they have, and one owner stays. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Running, start } from "../support/InProcess.js"
import { eventually } from "../support/eventually.js"
import { cookieOf, origin, signInTo } from "../support/signIn.js"

let svc: Running
beforeAll(async () => {
  svc = await start({ SVC_PUBLIC_URL: origin })
})
afterAll(() => svc.stop())

const { askWith, newLink, newOwner, open } = signInTo(() => svc)
type AskPerson = ReturnType<typeof askWith>

const invite = async (ask: AskPerson, email: string, role: string, more: object = {}): Promise<string> => {
  const invited = await ask("POST", "/api/v1/users/invite", { body: { email, role, ...more } })
  assert.strictEqual(invited.status, 201, invited.text)
  return invited.body.data.userId
}

/** An organisation with its owner, and a client of a key of it. */
const newTeam = async (name: string) => {
  const { cookie, organisation } = await newOwner(name)
  const owner = askWith(cookie)
  const ownerId = (await owner("GET", "/api/v1/me")).body.data.id
  /** Invites a person, who signs in. */
  const signedIn = async (email: string, role: string, more: object = {}) => {
    const id = await invite(owner, email, role, more)
    const opened = await open(await newLink(organisation.organisationId, email))
    assert.strictEqual(opened.status, 303, opened.text)
    return { id, ask: askWith(cookieOf(opened)) }
  }
  return { organisation, owner, ownerId, signedIn }
}

describe("a person", () => {
  it("is read, changed and sent back as read", async () => {
    const { owner } = await newTeam("Changing")
    const id = await invite(owner, "ann@example.com", "viewer")
    const read = await owner("GET", `/api/v1/users/${id}`)
    assert.deepInclude(read.body.data, { id, email: "ann@example.com", status: "invited", name: null })
    const changed = await owner("PUT", `/api/v1/users/${id}`, {
      body: { name: "Ann", roleId: "operator", teams: ["Sales"] }
    })
    assert.deepInclude(changed.body.data, { name: "Ann", teams: ["Sales"], version: 2 }, changed.text)
    assert.notStrictEqual(changed.body.data.roleId, read.body.data.roleId)
    const same = await owner("PUT", `/api/v1/users/${id}`, { body: changed.body.data })
    assert.strictEqual(same.status, 200, same.text)
    const stale = await owner("PUT", `/api/v1/users/${id}`, { body: { name: "Late", version: 1 } })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])
    for (const [body, path, code] of [
      [{ email: "other@example.com" }, "email", "IMMUTABLE_FIELD"],
      [{ roleId: "none" }, "roleId", "NOT_FOUND"],
      [{ customerIds: ["cus_00000000000000000000000000"] }, "customerIds[0]", "NOT_FOUND"],
      [{ status: "active" }, "status", "NOT_ALLOWED"]
    ] as const) {
      const { body: refusal, status } = await owner("PUT", `/api/v1/users/${id}`, { body })
      assert.deepInclude(refusal.details[0], { path, code }, JSON.stringify(refusal))
      assert.strictEqual(status, 422)
    }
    const foreign = await newTeam("Foreign")
    for (const method of ["GET", "PUT", "DELETE"]) {
      const answer = await foreign.owner(method, `/api/v1/users/${id}`, method === "PUT" ? { body: {} } : {})
      assert.strictEqual(answer.status, 404, answer.text)
    }
  })

  it("who is disabled, demoted or removed acts nowhere any more", async () => {
    const { owner, signedIn } = await newTeam("Ending")
    const { ask, id } = await signedIn("bob@example.com", "developer")
    const create = () => ask("POST", "/api/v1/customers", { body: { name: "Bob's" } })
    const read = () => ask("GET", "/api/v1/workflows")
    assert.deepStrictEqual([(await create()).status, (await read()).status], [403, 200])
    const put = (body: object) => owner("PUT", `/api/v1/users/${id}`, { body })
    const status = (request: () => Promise<{ readonly status: number }>, expected: number) =>
      eventually(request, (answer) => answer.status === expected)
    assert.strictEqual((await put({ roleId: "admin" })).status, 200)
    await status(create, 201)
    assert.strictEqual((await put({ roleId: "viewer" })).status, 200)
    await status(create, 403)
    assert.strictEqual((await put({ status: "disabled" })).body.data.status, "disabled")
    await status(read, 401)
    assert.strictEqual((await put({ status: "active" })).status, 200)
    await status(read, 200)
    const removed = await owner("DELETE", `/api/v1/users/${id}`)
    assert.strictEqual(removed.status, 204, removed.text)
    await status(read, 401)
    assert.strictEqual((await owner("GET", `/api/v1/users/${id}`)).status, 404)
    assert.deepStrictEqual(await svc.sql(`SELECT id FROM identities WHERE email = 'bob@example.com'`), [])
    const trail = (await owner("GET", `/api/v1/audit?resource_id=${id}`)).body.data
    const actions = trail.map(({ action }: { readonly action: string }) => action)
    assert.includeMembers(actions, ["user.invite", "user.update", "user.remove"])
  })

  it("is invited again with a new link, until the first sign-in", async () => {
    const { organisation, owner } = await newTeam("Again")
    const id = await invite(owner, "cy@example.com", "viewer")
    const hash = async () => (await svc.sql(`SELECT invite_hash AS hash FROM users WHERE id = '${id}'`))[0]
    const first = await hash()
    const again = await owner("POST", `/api/v1/users/${id}/invite`)
    assert.strictEqual(again.status, 200, again.text)
    assert.deepInclude(again.body.data, { userId: id, status: "invited" })
    assert.notDeepEqual(await hash(), first)
    assert.strictEqual((await open(await newLink(organisation.organisationId, "cy@example.com"))).status, 303)
    const late = await owner("POST", `/api/v1/users/${id}/invite`)
    assert.deepStrictEqual([late.status, late.body.code], [409, "INVALID_STATE"], late.text)
  })

  it("is changed by nobody who may do less, or reaches fewer customers", async () => {
    const { organisation, owner, ownerId, signedIn } = await newTeam("Bounded")
    const manager = await owner("POST", "/api/v1/roles", {
      body: { name: "People", parent: "admin", permissions: { users: ["read", "update", "invite", "remove"] } }
    })
    assert.strictEqual(manager.status, 201, manager.text)
    const { ask, id } = await signedIn("dee@example.com", "People")
    const other = await invite(owner, "eve@example.com", "People")
    for (const [method, target, body] of [
      ["PUT", ownerId, { name: "Mine" }],
      ["DELETE", ownerId, undefined],
      ["PUT", id, { roleId: "viewer" }],
      ["PUT", id, { roleId: "owner" }]
    ] as const) {
      const answer = await ask(method, `/api/v1/users/${target}`, body === undefined ? {} : { body })
      assert.deepStrictEqual([answer.status, answer.body.code], [403, "FORBIDDEN"], answer.text)
    }
    const renamed = await ask("PUT", `/api/v1/users/${other}`, { body: { name: "Eve" } })
    assert.strictEqual(renamed.status, 200, renamed.text)
    const narrowed = await owner("PUT", `/api/v1/users/${id}`, { body: { customerIds: [organisation.customerId] } })
    assert.strictEqual(narrowed.status, 200, narrowed.text)
    const wider = await eventually(
      () => ask("PUT", `/api/v1/users/${other}`, { body: { name: "Wider" } }),
      ({ status }) => status !== 200
    )
    assert.deepStrictEqual([wider.status, wider.body.code], [403, "FORBIDDEN"], wider.text)
  })
})

describe("the last owner", () => {
  it("is not removed, disabled or demoted, also when two owners take each other's place at once", async () => {
    const { organisation, owner, ownerId, signedIn } = await newTeam("Owned")
    const lastOwner = async (method: string, body?: object) => {
      const answer = await owner(method, `/api/v1/users/${ownerId}`, body === undefined ? {} : { body })
      assert.deepStrictEqual([answer.status, answer.body.code], [409, "CONFLICT"], answer.text)
      assert.strictEqual(answer.body.details[0].code, "LAST_OWNER")
    }
    await lastOwner("DELETE")
    await lastOwner("PUT", { status: "disabled" })
    await lastOwner("PUT", { roleId: "admin" })
    await lastOwner("PUT", { customerIds: [organisation.customerId] })
    // Neither who is invited nor who is for some customers can take the place.
    await signedIn("narrowed@example.com", "owner", { customerIds: [organisation.customerId] })
    await invite(owner, "invited@example.com", "owner")
    await lastOwner("DELETE")
    const second = await signedIn("second@example.com", "owner")
    const answers = await Promise.all([
      owner("DELETE", `/api/v1/users/${second.id}`),
      second.ask("PUT", `/api/v1/users/${ownerId}`, { body: { status: "disabled" } })
    ])
    const won = answers.filter(({ status }) => status < 300)
    assert.lengthOf(won, 1, answers.map(({ text }) => text).join("\n"))
  })
})

describe("a role", () => {
  it("is not deleted while somebody gets it, or another one is made below it", async () => {
    const { owner } = await newTeam("Races")
    for (let n = 0; n < 5; n++) {
      const body = { name: `Raced ${n}`, parent: "viewer", permissions: { workflows: ["read"] } }
      const id = (await owner("POST", "/api/v1/roles", { body })).body.data.id
      const [removed, invited, below] = await Promise.all([
        owner("DELETE", `/api/v1/roles/${id}`),
        owner("POST", "/api/v1/users/invite", { body: { email: `raced${n}@example.com`, role: id } }),
        owner("POST", "/api/v1/roles", { body: { ...body, name: `Below ${n}`, parent: id } })
      ])
      const others = [invited.status, below.status]
      if (removed.status === 204) assert.deepStrictEqual(others, [422, 422])
      else assert.deepStrictEqual([removed.status, ...others], [409, 201, 201], removed.text)
    }
  })

  it("that has more than the caller is changed and deleted by somebody else", async () => {
    const { owner, signedIn } = await newTeam("Wider")
    const create = async (name: string, permissions: object) => {
      const made = await owner("POST", "/api/v1/roles", { body: { name, parent: "admin", permissions } })
      assert.strictEqual(made.status, 201, made.text)
      return made.body.data.id
    }
    await create("Settings", { settings: ["read", "manage"] })
    const wider = await create("Writer", { workflows: ["read", "update"] })
    const { ask } = await signedIn("gil@example.com", "Settings")
    const put = await ask("PUT", `/api/v1/roles/${wider}`, { body: { permissions: { workflows: ["read"] } } })
    const removed = await ask("DELETE", `/api/v1/roles/${wider}`)
    for (const answer of [put, removed]) {
      assert.deepStrictEqual([answer.status, answer.body.code], [403, "FORBIDDEN"], answer.text)
      assert.match(answer.body.message, /^this role has workflows:/)
    }
  })

  it("is changed within its parent and its children, and deleted when nobody has it", async () => {
    const { owner } = await newTeam("Roles")
    const create = async (name: string, parent: string, workflows: ReadonlyArray<string>): Promise<string> => {
      const made = await owner("POST", "/api/v1/roles", { body: { name, parent, permissions: { workflows } } })
      assert.strictEqual(made.status, 201, made.text)
      return made.body.data.id
    }
    const wide = await create("Wide", "developer", ["read", "update"])
    const narrow = await create("Narrow", "Wide", ["read", "update"])
    const put = (id: string, body: object) => owner("PUT", `/api/v1/roles/${id}`, { body })
    const renamed = await put(narrow, { name: "Narrower" })
    assert.deepInclude(renamed.body.data, { name: "Narrower", version: 2 }, renamed.text)
    assert.strictEqual((await put(narrow, renamed.body.data)).status, 200)
    assert.strictEqual((await put(narrow, { permissions: { settings: ["manage"] } })).status, 422)
    const child = await put(wide, { permissions: { workflows: ["read"] } })
    assert.deepStrictEqual([child.status, child.body.code], [409, "CONFLICT"], child.text)
    assert.strictEqual((await put(wide, { name: "viewer" })).status, 409)
    assert.strictEqual((await owner("DELETE", `/api/v1/roles/${wide}`)).status, 409)
    const id = await invite(owner, "fay@example.com", "Narrower")
    const held = await owner("DELETE", `/api/v1/roles/${narrow}`)
    assert.deepStrictEqual([held.status, held.body.code], [409, "CONFLICT"], held.text)
    assert.strictEqual((await put(narrow, { permissions: { workflows: ["read"] } })).status, 200)
    assert.strictEqual((await put(wide, { permissions: { workflows: ["read"] } })).status, 200)
    assert.strictEqual((await owner("DELETE", `/api/v1/users/${id}`)).status, 204)
    assert.strictEqual((await owner("DELETE", `/api/v1/roles/${narrow}`)).status, 204)
    assert.strictEqual((await owner("DELETE", `/api/v1/roles/${wide}`)).status, 204)
    const builtin = (await owner("GET", "/api/v1/roles?q=viewer")).body.data[0].id
    for (const [method, body] of [
      ["PUT", { name: "Mine" }],
      ["DELETE", undefined]
    ] as const) {
      const answer = await owner(method, `/api/v1/roles/${builtin}`, body === undefined ? {} : { body })
      assert.deepStrictEqual([answer.status, answer.body.code], [409, "INVALID_STATE"], answer.text)
    }
  })
})
