/** A watch tells of each committed change that its caller reaches, in time, and of nothing else. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Deferred, Effect, FiberId } from "effect"
import { CommittedChanges } from "../../src/actors/ports/watch/CommittedChanges.js"
import { Digests } from "../../src/actors/ports/Digests.js"
import { ulidTime } from "../../src/domain/Ids.js"
import { watchPositionText } from "../../src/domain/watch/WatchPosition.js"
import { eventStream } from "../../src/http/watch/EventStream.js"
import type { WatchOutlet } from "../../src/actors/management/watch/Watcher.js"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { makeKey, makeKeyOfOtherWorkspace, makeScopedKey } from "../support/keys.js"
import { cookieOf, origin, signInTo } from "../support/signIn.js"
import { type Followed, watchIn } from "../support/watch.js"

let svc: Running
const open = new Set<Followed>()
beforeAll(async () => {
  svc = await start({ SVC_PUBLIC_URL: origin })
})
afterAll(async () => {
  await Promise.all([...open].map(({ close }) => close()))
  await svc.stop()
})

const watch = async (topics: string, as: Parameters<typeof watchIn>[2] = { key: svc.first.key }) => {
  const followed = await watchIn(svc, topics, as)
  open.add(followed)
  await followed.begun
  return followed
}
/** Ends a stream, so that its key may open another one. */
const close = async (followed: Followed) => {
  open.delete(followed)
  await followed.close()
}

const ask = async (method: string, target: string, body?: object, key = svc.first.key) => {
  const answer = await svc.ask(method, target, { key, ...(body === undefined ? {} : { body }) })
  assert.isBelow(answer.status, 300, answer.text)
  return answer.body.data
}
const run = async (headers: { readonly [name: string]: string } = {}, workflow = svc.first.workflowId) => {
  const answer = await svc.ask("POST", `/api/v1/workflows/${workflow}/execute`, {
    key: svc.first.key,
    headers,
    body: { input: { name: "you" } }
  })
  assert.strictEqual(answer.status, 200, answer.text)
  return String(answer.headers["x-svc-execution-id"])
}

/** Inserts an execution like another one; the transaction ends with `commit`. */
const insertLike = (id: string, commit: Effect.Effect<void>) =>
  Effect.flatMap(WriterSql, (sql) =>
    sql.withTransaction(
      Effect.zipRight(
        sql`INSERT INTO executions (id, class, org, space, status, workflow_id, trigger_type, finished_at, record)
          SELECT ${id}, class, org, space, 'failed', workflow_id, trigger_type, now(), record FROM executions LIMIT 1`,
        commit
      )
    )
  )

const idsOf = ({ messages }: Followed) => messages.map(({ id }) => id)

describe("a watch", () => {
  it("tells topic, id, status and time of changes of every topic, and no more of them", async () => {
    const followed = await watch("executions,events,connections,triggers,notifications")
    const execution = await run()
    await followed.told(execution, "completed")
    const routes = [{ workflowId: svc.first.workflowId }]
    const trigger = await ask("POST", "/api/v1/triggers", { type: "event", name: "t", event: { type: "x.y" }, routes })
    const event = await ask("POST", "/api/v1/events", { type: "x.y", payload: {} })
    const notification = await ask("POST", "/api/v1/notifications", { title: "Private words" })
    const connection = await ask("POST", "/api/v1/connections", {
      connector: "http",
      customerId: svc.first.customerId,
      authMethod: "none",
      config: { baseUrl: "https://api.github.com" },
      credential: {}
    })
    await followed.told(event.eventId, "delivered")
    await followed.told(notification.id, "sent")
    await followed.told(connection.id, "active")
    await followed.told(trigger.id, "active")
    await ask("POST", `/api/v1/triggers/${trigger.id}/disable`, {})
    await followed.told(trigger.id, "disabled")
    await svc.ask("DELETE", `/api/v1/triggers/${trigger.id}`, { key: svc.first.key })
    await followed.told(trigger.id, "deleted")
    await ask("POST", "/api/v1/notifications/mark-read", { ids: [notification.id] })
    await followed.told(notification.id, "read")
    for (const { receivedAt: _, ...message } of followed.messages)
      assert.sameMembers(Object.keys(message), ["topic", "id", "status", "at"], JSON.stringify(message))
    await close(followed)
  })

  it("passes over no change that began early and commits late, also while others commit", async () => {
    const followed = await watch("executions")
    const id = `exec_${ulidTime(Date.now())}0000000000000late`.slice(0, 31)
    const commit = Deferred.unsafeMake<void>(FiberId.none)
    const late = svc.run(insertLike(id, Deferred.await(commit)))
    const others = [await run(), await run()]
    for (const other of others) await followed.told(other)
    const lastId = followed.lastId()
    await close(followed)
    const again = await watch("executions", { key: svc.first.key, lastId })
    others.push(await run())
    await again.told(others[2] ?? "")
    assert.notInclude(idsOf(again), id)
    await svc.run(Deferred.succeed(commit, undefined))
    await late
    await again.told(id, "failed")
    await close(again)
  })

  it("continues where an earlier stream ended, for five minutes", async () => {
    const first = await watch("executions,notifications")
    await first.told(await run())
    const lastId = first.lastId()
    await close(first)
    const missed = [await run(), await run()]
    const { id } = await ask("POST", "/api/v1/notifications", { title: "Meanwhile" })
    const second = await watch("executions,notifications", { key: svc.first.key, lastId })
    for (const one of [...missed, id]) await second.told(one)
    assert.notInclude(
      second.messages.map(({ topic }) => topic),
      "reset"
    )
    await close(second)

    const { digests, current } = await svc.run(
      Effect.all({ digests: Digests, current: Effect.flatMap(CommittedChanges, (source) => source.rights([])) })
    )
    const { position } = current
    const old = watchPositionText(digests, { ...position, at: position.at - 301_000 })
    const later = watchPositionText(digests, { ...position, commits: { end: "9000000000000", open: [] } })
    for (const lost of [old, later, "1", `${"0".repeat(24)}.${old.slice(25)}`]) {
      const third = await watch("executions", { key: svc.first.key, lastId: lost })
      await eventually(
        async () => third.messages,
        ([one]) => one?.topic === "reset"
      )
      await third.told(await run())
      await close(third)
    }
  })

  it("sums what exceeds ten messages a second", async () => {
    const followed = await watch("executions")
    const before = followed.messages.length
    const began = Date.now()
    let count = 0
    const after = () => followed.messages.slice(before)
    const sum = () => after().reduce((all, { many = 1, status }) => all + (status === "running" ? 0 : many), 0)
    // A busy machine may take so long for the first runs that none is summed.
    while (!after().some(({ many = 1 }) => many > 1)) {
      await Promise.all(Array.from({ length: 60 }, () => run()))
      count += 60
      await eventually(
        async () => sum(),
        (all) => all >= count
      )
    }
    const seconds = Math.ceil((Date.now() - began) / 1_000)
    assert.isAtMost(after().length, 10 * seconds)
    await close(followed)
  })

  it("tells of each commit of one run, and of its end", async () => {
    const code = `export default async () => {
      for (const n of [1, 2, 3]) await svc.step("part" + n, () => new Promise((done) => setTimeout(done, 1500)))
    }`
    const { id: workflow } = await ask("POST", "/api/v1/workflows", {
      name: "parts",
      form: "code",
      tier: "standard",
      code
    })
    await ask("POST", `/api/v1/workflows/${workflow}/publish`, {})
    const started = await svc.ask("POST", `/api/v1/workflows/${workflow}/execute`, { key: svc.first.key, body: {} })
    const id = String(started.headers["x-svc-execution-id"])
    const followed = await watch(`execution:${id}`)
    await followed.told(id, "completed")
    const [last] = followed.messages.slice(-1)
    assert.strictEqual(last?.topic, `execution:${id}`)
    assert.isAtLeast(followed.messages.length, 4)
    await close(followed)
    const unknown = await svc.ask("GET", `/api/v1/watch?topics=execution:exec_${"0".repeat(26)}`, {
      key: svc.first.key
    })
    assert.strictEqual(unknown.status, 404)
  })
})

describe("a watch tells nothing beyond what its caller reaches", () => {
  it("of other organisations, workspaces, customers and resources", async () => {
    const other = await svc.organisation("Other watchers")
    const customer = (await ask("POST", "/api/v1/customers", { name: "Mine" })).id
    const code = "export default async () => 1"
    const { id: workflow } = await ask("POST", "/api/v1/workflows", {
      name: "scoped",
      form: "code",
      tier: "instant",
      code
    })
    await ask("POST", `/api/v1/workflows/${workflow}/publish`, {})
    const keys = {
      other: other.key,
      space: (await makeKeyOfOtherWorkspace(svc)).key,
      customer: (
        await makeKey(svc, {
          preset: "custom",
          permissions: { executions: ["read"] },
          customers: { mode: "subset", ids: [customer] }
        })
      ).key,
      narrowed: (await makeScopedKey(svc, { workflow: [workflow] })).key
    }
    const streams = {
      other: await watch("executions,notifications", { key: keys.other }),
      space: await watch("executions", { key: keys.space }),
      customer: await watch("executions,notifications", { key: keys.customer }),
      narrowed: await watch("executions", { key: keys.narrowed }),
      all: await watch("executions,notifications")
    }
    const shared = await run()
    const { id: note } = await ask("POST", "/api/v1/notifications", { title: "For all" })
    const own = await run({ "x-end-org-id": customer })
    const ofWorkflow = await run({}, workflow)
    for (const id of [shared, note, own, ofWorkflow]) await streams.all.told(id)
    await streams.customer.told(own)
    await streams.narrowed.told(ofWorkflow)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    assert.deepStrictEqual(idsOf(streams.other), [])
    assert.deepStrictEqual(idsOf(streams.space), [])
    assert.deepStrictEqual([...new Set(idsOf(streams.customer))], [own])
    assert.deepStrictEqual([...new Set(idsOf(streams.narrowed))], [ofWorkflow])
    await Promise.all(Object.values(streams).map(close))

    const status = async (topics: string, key: string) =>
      (await svc.ask("GET", `/api/v1/watch?topics=${topics}`, { key })).status
    assert.deepStrictEqual(
      [
        await status("events", keys.customer),
        await status("triggers", keys.narrowed),
        await status(`execution:${shared}`, keys.narrowed),
        await status(`execution:${shared}`, keys.customer),
        await status("secrets", svc.first.key),
        await status(Array.from({ length: 11 }, (_, n) => `execution:${n}`).join(","), svc.first.key)
      ],
      [403, 403, 403, 404, 422, 422]
    )
  })

  it("after its key is revoked, or may do less", async () => {
    const key = await makeKey(svc, {})
    const followed = await watch("executions", { key: key.key })
    const narrowed = await makeKey(svc, {})
    const other = await watch("executions", { key: narrowed.key })
    await svc.ask("DELETE", `/api/v1/api-keys/${key.id}`, { key: svc.first.key })
    await followed.ended
    const { version } = await ask("GET", `/api/v1/api-keys/${narrowed.id}`)
    const body = { version, allowedIps: ["203.0.113.9/32"] }
    const changed = await svc.ask("PUT", `/api/v1/api-keys/${narrowed.id}`, { key: svc.first.key, body })
    assert.strictEqual(changed.status, 200, changed.text)
    await other.ended
    await close(other)
  })

  it("after its person is demoted, removed, or has signed out", async () => {
    const { askWith, newLink, newOwner, open: signIn } = signInTo(() => svc)
    const { cookie, organisation } = await newOwner("Watching people")
    const owner = askWith(cookie)
    const person = async (email: string) => {
      const invited = (await owner("POST", "/api/v1/users/invite", { body: { email, role: "admin" } })).body.data
      const session = cookieOf(await signIn(await newLink(organisation.organisationId, email)))
      const followed = await watch("executions", { cookie: session })
      return { id: invited.id ?? invited.userId, followed, ask: askWith(session) }
    }
    const runOther = () =>
      svc.ask("POST", `/api/v1/workflows/${organisation.workflowId}/execute`, {
        key: organisation.key,
        body: { input: { name: "you" } }
      })
    const [demoted, removed, left] = [
      await person("demoted@example.com"),
      await person("removed@example.com"),
      await person("left@example.com")
    ]
    const roles = await owner("PUT", `/api/v1/users/${demoted.id}`, { body: { roleId: "viewer" } })
    assert.strictEqual(roles.status, 200, roles.text)
    assert.strictEqual((await owner("DELETE", `/api/v1/users/${removed.id}`)).status, 204)
    const sessions = (await left.ask("GET", "/api/v1/sessions")).body.data
    await left.ask("DELETE", `/api/v1/sessions/${sessions[0].id}`)
    for (const { followed } of [demoted, removed, left]) await followed.ended
    await runOther()
    for (const { followed } of [demoted, removed, left]) assert.deepStrictEqual(idsOf(followed), [])
  })
})

describe("watches are bounded", () => {
  it("four of a session or key", async () => {
    const { key } = await makeKey(svc, {})
    const streams = [await watch("executions", { key }), await watch("executions", { key })]
    streams.push(await watch("executions", { key }), await watch("executions", { key }))
    const refused = await svc.ask("GET", "/api/v1/watch?topics=executions", { key })
    assert.deepStrictEqual([refused.status, refused.body.code], [429, "RATE_LIMITED"])
    assert.include(refused.body.message, "4 watches")
    assert.include(refused.body.message, "close one")
    for (const stream of streams.splice(0, 1)) await close(stream)
    streams.push(await watch("executions", { key }))
    await Promise.all(streams.map(close))

    const { cookie } = await signInTo(() => svc).newOwner("Watching at once")
    const atOnce = await Promise.allSettled(Array.from({ length: 12 }, () => watchIn(svc, "executions", { cookie })))
    const opened = atOnce.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
    await Promise.all(opened.map((one) => one.close()))
    assert.lengthOf(opened, 4)
  })

  it("half of a node's for an account and a thousand in all, which say what to do instead", async () => {
    const opened: Array<Followed> = []
    const openAll = async (by: string, count: number) => {
      const keys = await Promise.all(Array.from({ length: count / 4 }, () => makeKey(svc, {}, by)))
      for (const { key } of keys) for (let n = 0; n < 4; n++) opened.push(await watchIn(svc, "executions", { key }))
    }
    const child = await svc.ask("POST", "/api/v1/organizations", { key: svc.first.key, body: { name: "Child" } })
    const [neighbour, third] = [
      await svc.organisation("Neighbour", "unlimited"),
      await svc.organisation("Third", "unlimited")
    ]
    const refusalOf = async (key: string) => {
      const { body, headers, status } = await svc.ask("GET", "/api/v1/watch?topics=executions", { key })
      assert.include(body.message, "another node")
      return [status, body.code, headers["retry-after"], parseInt(body.message.replace(/^\D+/, ""), 10)]
    }
    await openAll(child.body.data.apiKey, 300)
    await openAll(svc.first.key, 200)
    const further = (await makeKey(svc, {})).key
    for (const key of [further, child.body.data.apiKey])
      assert.deepStrictEqual(await refusalOf(key), [429, "RATE_LIMITED", "1", 500])
    await openAll(neighbour.key, 500)
    assert.deepStrictEqual(await refusalOf(third.key), [503, "UNAVAILABLE", "5", 1_000])
    await opened.shift()?.close()
    opened.push(await watchIn(svc, "executions", { key: further }))
    await Promise.all(opened.map((one) => one.close()))
  })

  it("by a mebibyte that the client has not read", async () => {
    let outlet: WatchOutlet | undefined
    let closed = 0
    const { pieces } = eventStream(
      {
        attach: (to) => {
          outlet = to
          return () => (closed += 1)
        }
      },
      () => "1"
    )
    const message = { topic: "executions", id: "x".repeat(100_000), status: "running", at: 0 } as const
    for (let n = 0; n < 10; n++) outlet?.send({ messages: [message], position: undefined })
    assert.strictEqual(closed, 0)
    outlet?.send({ messages: [message], position: undefined })
    assert.isAtLeast(closed, 1)
    const read = async () => {
      for await (const _ of pieces);
    }
    const failed = await read().then(
      () => false,
      () => true
    )
    assert.isTrue(failed)
  })
})
