/** Whether a notification is read is each person's own, without a permission; the keys of an organisation share one state. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Running, start } from "../support/InProcess.js"
import { cookieOf, origin, signInTo } from "../support/signIn.js"

let svc: Running
beforeAll(async () => {
  svc = await start({ SVC_PUBLIC_URL: origin })
})
afterAll(() => svc.stop())

const { askWith, newLink, newOwner, open } = signInTo(() => svc)

interface Shown {
  readonly id: string
  readonly status: string
  readonly readAt: string | null
}

/** An organisation with an owner, a viewer of one customer, and three notifications: one for all, one of each of two customers. */
const newReaders = async (name: string) => {
  const { cookie, organisation } = await newOwner(name)
  const owner = askWith(cookie)
  const key = async (method: string, target: string, body?: object) =>
    (await svc.ask(method, target, { key: organisation.key, ...(body === undefined ? {} : { body }) })).body.data
  const other = (await key("POST", "/api/v1/customers", { name: "Other" })).id
  const invited = { email: "viewer@example.com", role: "viewer", customerIds: [organisation.customerId] }
  await key("POST", "/api/v1/users/invite", invited)
  const viewer = askWith(cookieOf(await open(await newLink(organisation.organisationId, "viewer@example.com"))))
  const notify = async (customerId: string | null): Promise<string> =>
    (await key("POST", "/api/v1/notifications", { title: "Told", customerId })).id
  const ids = { all: await notify(null), mine: await notify(organisation.customerId), theirs: await notify(other) }
  const unread = async (ask: typeof owner) =>
    (await ask("GET", "/api/v1/notifications?status=sent")).body.data.map(({ id }: Shown) => id).toSorted()
  const mark = async (ask: typeof owner, body: object) =>
    (await ask("POST", "/api/v1/notifications/mark-read", { body })).body
  return { ids, key, mark, organisation, owner, unread, viewer }
}

describe("a notification", () => {
  it("is read by one person, and not by another one or the keys", async () => {
    const { ids, key, mark, owner, unread, viewer } = await newReaders("Own reads")
    assert.deepStrictEqual(await unread(viewer), [ids.mine])
    assert.deepStrictEqual((await mark(owner, { ids: [ids.mine, "ntf_unknown"] })).data, { updated: 1 })
    assert.deepStrictEqual((await mark(owner, { ids: [ids.mine] })).data, { updated: 0 })
    assert.deepStrictEqual(await unread(owner), [ids.all, ids.theirs].toSorted())
    assert.deepStrictEqual(await unread(viewer), [ids.mine])
    const read = (await owner("GET", `/api/v1/notifications/${ids.mine}`)).body.data
    assert.strictEqual(read.status, "read")
    assert.isNotNull(read.readAt)
    assert.deepInclude(await key("GET", `/api/v1/notifications/${ids.mine}`), { status: "sent", readAt: null })
    // Newest first, also by pages.
    const first = (await owner("GET", "/api/v1/notifications?page_size=2")).body
    const rest = (await owner("GET", `/api/v1/notifications?page_size=2&cursor=${first.page.nextCursor}`)).body
    assert.deepStrictEqual(
      [...first.data, ...rest.data].map(({ id }: Shown) => id),
      [ids.theirs, ids.mine, ids.all]
    )
  })

  it("that keys have read is not read by people, and those of other customers are marked for nobody", async () => {
    const { ids, key, mark, owner, unread, viewer } = await newReaders("Shared reads")
    const marked = await key("POST", "/api/v1/notifications/mark-read", { all: true })
    assert.deepStrictEqual(marked, { updated: 3 })
    assert.deepStrictEqual(await unread(owner), Object.values(ids).toSorted())
    assert.deepStrictEqual((await mark(viewer, { ids: Object.values(ids) })).data, { updated: 1 })
    assert.strictEqual((await viewer("GET", `/api/v1/notifications/${ids.theirs}`)).status, 404)
    assert.deepStrictEqual(await unread(owner), Object.values(ids).toSorted())
    assert.deepStrictEqual((await mark(owner, { all: true })).data, { updated: 3 })
    assert.deepStrictEqual(await unread(owner), [])
    const later = await key("POST", "/api/v1/notifications", { title: "New" })
    assert.deepStrictEqual(await unread(owner), [later.id])
  })

  it("is marked by a person without a permission, by a key only with one", async () => {
    const { ids, mark, organisation, viewer } = await newReaders("Permitted reads")
    assert.deepStrictEqual((await mark(viewer, { all: true })).data, { updated: 1 })
    const made = await svc.ask("POST", "/api/v1/api-keys", {
      key: organisation.key,
      body: { name: "viewer", mode: "live", preset: "viewer" }
    })
    const refused = await svc.ask("POST", "/api/v1/notifications/mark-read", {
      key: made.body.data.key,
      body: { ids: [ids.all] }
    })
    assert.deepStrictEqual([refused.status, refused.body.code], [403, "FORBIDDEN"])
  })

  it("read before people had states of their own is read for everybody, and goes with its person or its notification", async () => {
    const { ids, mark, organisation, owner, unread, viewer } = await newReaders("Old reads")
    await svc.sql(`UPDATE notifications SET status = 'read', read_at = now() WHERE id = '${ids.all}'`)
    assert.deepStrictEqual(await unread(owner), [ids.mine, ids.theirs].toSorted())
    await mark(owner, { all: true })
    await mark(viewer, { all: true })
    const rows = () => svc.sql(`SELECT 1 FROM notification_reads WHERE org = '${organisation.organisationId}'`)
    assert.lengthOf(await rows(), 3)
    const me = (await viewer("GET", "/api/v1/me")).body.data.id
    assert.isBelow((await owner("DELETE", `/api/v1/users/${me}`)).status, 300)
    assert.lengthOf(await rows(), 2)
    await svc.sql(`DELETE FROM notifications WHERE id = '${ids.mine}'`)
    assert.lengthOf(await rows(), 1)
  })
})
