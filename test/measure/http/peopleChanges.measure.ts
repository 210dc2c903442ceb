/** What a person may do changes within a second, by the API and in the database. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { eventually } from "../../support/eventually.js"
import { type Running, start } from "../../support/InProcess.js"
import { assertWithin } from "../../support/pace.js"
import { cookieOf, origin, signInTo } from "../../support/signIn.js"

let svc: Running
beforeAll(async () => {
  svc = await start({ SVC_PUBLIC_URL: origin })
}, 60_000)
afterAll(() => svc.stop())

const { askWith, newLink, newOwner, open } = signInTo(() => svc)

/** Measures until a request is answered with a status. */
const until = async (what: string, status: number, ask: () => Promise<{ readonly status: number }>) => {
  const from = performance.now()
  await eventually(ask, (answer) => answer.status === status)
  assertWithin(performance.now() - from, 1_000, what)
}

it("a person who is changed by another", async () => {
  const { cookie, organisation } = await newOwner("Ending")
  const owner = askWith(cookie)
  const invited = await owner("POST", "/api/v1/users/invite", { body: { email: "bob@example.com", role: "developer" } })
  const id: string = invited.body.data.userId
  const ask = askWith(cookieOf(await open(await newLink(organisation.organisationId, "bob@example.com"))))
  const create = () => ask("POST", "/api/v1/customers", { body: { name: "Bob's" } })
  const read = () => ask("GET", "/api/v1/workflows")
  const put = async (body: object) =>
    assert.strictEqual((await owner("PUT", `/api/v1/users/${id}`, { body })).status, 200)
  await put({ roleId: "admin" })
  await until("promoted", 201, create)
  await put({ roleId: "viewer" })
  await until("demoted", 403, create)
  await put({ status: "disabled" })
  await until("disabled", 401, read)
  await put({ status: "active" })
  await until("enabled", 200, read)
  await owner("DELETE", `/api/v1/users/${id}`)
  await until("removed", 401, read)
})

it("a person who is changed in the database", async () => {
  const { cookie, organisation } = await newOwner("Changed")
  const ask = askWith(cookie)
  const ofThese = `WHERE org = '${organisation.organisationId}'`
  await svc.sql(
    `UPDATE users SET role_id = (SELECT id FROM roles r WHERE r.org = users.org AND r.name = 'viewer') ${ofThese}`
  )
  await until("demoted", 403, () => ask("POST", "/api/v1/customers", { body: { name: "No" } }))
  await svc.sql(`UPDATE users SET status = 'disabled' ${ofThese}`)
  await until("disabled", 401, () => ask("GET", "/api/v1/me"))
  await svc.sql(`UPDATE users SET status = 'active' ${ofThese}`)
  await until("enabled", 200, () => ask("GET", "/api/v1/me"))
})
