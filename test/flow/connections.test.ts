/**
 * Concurrent callers cause one refresh of a credential, also when the service dies meanwhile. No credential is readable
 * anywhere, and a credential that was moved to another row does not open.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as path from "node:path"
import { Client } from "pg"
import { Connections } from "../../src/actors/ports/connection/Connections.js"
import type { ConnectionId } from "../../src/domain/Ids.js"
import { api, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { readEveryRow } from "../support/everyRow.js"
import { type Running, start } from "../support/InProcess.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"

const at = "/api/v1/connections"
const env = { SVC_EGRESS_ALLOW: "127.0.0.1/32" }

const wait = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

describe("a thousand callers at the instant of expiry", () => {
  let svc: Running
  let provider: OAuthProvider

  beforeAll(async () => {
    provider = await startOAuthProvider()
    svc = await start(env)
    await svc.ask("POST", "/api/v1/connectors", { key: svc.first.key, body: acme() })
    await svc.ask("POST", "/api/v1/connectors/acme/publish", { key: svc.first.key, body: {} })
  })
  afterAll(async () => {
    await svc.stop()
    await provider.close()
  })

  const expiring = async (): Promise<ConnectionId> => {
    const made = await svc.ask("POST", at, {
      key: svc.first.key,
      body: {
        connector: "acme",
        customerId: svc.first.customerId,
        config: { base: provider.url },
        credential: { ...provider.issue(), expiresIn: 1 }
      }
    })
    assert.strictEqual(made.status, 201, made.text)
    await wait(1_050)
    return made.body.data.id
  }

  const authorize = (connectionId: ConnectionId) =>
    Effect.flatMap(Connections, (connections) =>
      connections.authorize({
        organisationId: svc.first.organisationId,
        connectionId,
        origin: provider.url,
        executionId: null,
        timeoutMillis: 60_000
      })
    )

  it.each([10, 15_000])("cause one token request and all succeed, when the provider takes %i ms", async (latency) => {
    provider.behaviour.latencyMillis = latency
    // Counted from the creation: the sweep may be the first to notice the expiry.
    const before = provider.tokenRequests.length
    const id = await expiring()
    const answers = await svc.run(
      Effect.forEach(
        Array.from({ length: 1_000 }, () => id),
        authorize,
        { concurrency: "unbounded" }
      )
    )
    provider.behaviour.latencyMillis = 0
    assert.deepStrictEqual([...new Set(answers.map(({ _tag }) => _tag))], ["Granted"])
    assert.strictEqual(provider.tokenRequests.length - before, 1)
  })
})

describe("an owner killed in the middle of a refresh", () => {
  const place = makeDataDirectory()
  const { dataDir } = place
  let provider: OAuthProvider
  let current: Service
  let client: Api
  let log = ""

  const begin = async (kill?: string): Promise<void> => {
    await prepareData(dataDir)
    current = startService({ dataDir, env, ...(kill === undefined ? {} : { kill }) })
    await current.ready
    client = api(dataDir)
  }
  const end = async (): Promise<void> => {
    current.kill("SIGTERM")
    await current.ended
    log += current.output()
  }

  beforeAll(async () => {
    provider = await startOAuthProvider()
    await begin()
    assert.strictEqual((await client.call("POST", "/api/v1/connectors", acme())).status, 201)
    assert.strictEqual((await client.call("POST", "/api/v1/connectors/acme/publish", {})).status, 200)
    const endpoint = { url: `${provider.url}/events`, events: ["connection.*"] }
    assert.strictEqual((await client.call("POST", "/api/v1/webhook-endpoints", endpoint)).status, 201)
  })
  /** The types of the events about a connection, once `count` of them are published to the endpoint. */
  const publishedAbout = async (id: string, count: number): Promise<ReadonlyArray<string>> => {
    const database = await superuser(dataDir)
    const { rows } = await eventually(
      () =>
        database.query(
          "SELECT event_type AS type FROM deliveries WHERE strpos(payload, $1) > 0 ORDER BY created_at, id",
          [id]
        ),
      ({ rows }) => rows.length >= count
    )
    await database.end()
    return rows.map(({ type }: { readonly type: string }) => type)
  }
  afterAll(async () => {
    await end()
    await provider.close()
    place.remove()
  })

  const connect = async (): Promise<string> => {
    const made = await client.call("POST", at, {
      connector: "acme",
      customerId: client.dev.customerId,
      config: { base: provider.url },
      credential: { ...provider.issue(), expiresIn: 3_600 }
    })
    assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    return made.body.data.id
  }
  const record = async (id: string) => (await client.call("GET", `${at}/${id}`)).body.data

  /**
   * Kills the service at the kill point in a refresh, starts another, and has it refresh. `isLater`: after the time in
   * which the killed one might still have sent its request; otherwise the other one waits for that.
   */
  const killedAt = async (point: string, isLater: boolean) => {
    const id = await connect()
    await end()
    await begin(`${point}:1`)
    const before = provider.tokenRequests.length
    await client.call("POST", `${at}/${id}/refresh`, {}).catch(() => undefined)
    await current.ended
    log += current.output()
    const first = provider.tokenRequests.length - before
    if (isLater) {
      const database = await superuser(dataDir)
      await database.query("UPDATE refresh_intents SET at = at - interval '1 minute' WHERE connection_id = $1", [id])
      await database.end()
    }
    await begin()
    const answer = await client.call("POST", `${at}/${id}/refresh`, {})
    return { id, first, answer, asked: () => provider.tokenRequests.length - before }
  }

  it("before its request: one request in total, and the connection is active", async () => {
    provider.behaviour.rotates = true
    const { answer, asked, first, id } = await killedAt("intentWritten", false)
    assert.strictEqual(first, 0)
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    assert.strictEqual(asked(), 1)
    assert.strictEqual((await record(id)).status, "active")
  })

  it("before it commits the answer: two requests, and the connection is active if the provider does not rotate tokens", async () => {
    provider.behaviour.rotates = false
    const { answer, asked, first, id } = await killedAt("tokenReceived", true)
    assert.strictEqual(first, 1)
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    assert.strictEqual(asked(), 2)
    assert.strictEqual((await record(id)).status, "active")
  })

  it("before it commits the answer, with a provider that ends the grant: two requests, expired with reason and event, never a third", async () => {
    provider.behaviour.rotates = true
    const { answer, asked, first, id } = await killedAt("tokenReceived", true)
    assert.strictEqual(first, 1)
    assert.strictEqual(answer.status, 409, JSON.stringify(answer.body))
    const { health, status } = await record(id)
    assert.strictEqual(status, "expired")
    assert.include(health.lastError, "invalid_grant")
    for (let i = 0; i < 3; i++) assert.strictEqual((await client.call("POST", `${at}/${id}/refresh`, {})).status, 409)
    assert.strictEqual(asked(), 2)
    assert.deepStrictEqual(await publishedAbout(id, 2), ["connection.created", "connection.expired"])
  })

  it("a provider that ends the grant on a reused token stays connected through many refreshes", async () => {
    provider.behaviour.rotates = true
    const id = await connect()
    for (let i = 0; i < 100; i++) {
      const answer = await client.call("POST", `${at}/${id}/refresh`, {})
      assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    }
    assert.strictEqual((await record(id)).status, "active")
  })

  it("a pending connection that is not completed is removed, with an event", async () => {
    const made = await client.call("POST", at, {
      connector: "acme",
      customerId: client.dev.customerId,
      config: { base: provider.url }
    })
    const id: string = made.body.data.id
    const database = await superuser(dataDir)
    await database.query("UPDATE connect_sessions SET expires_at = now() WHERE connection_id = $1", [id])
    await eventually(
      () => client.call("GET", `${at}/${id}`),
      ({ status }) => status === 404
    )
    await database.end()
    assert.deepStrictEqual(await publishedAbout(id, 1), ["connection.abandoned"])
  })

  it("the connections of a deleted customer are disconnected, and their credentials erased", async () => {
    const customer = await client.call("POST", "/api/v1/customers", { name: "Leaving" })
    const made = await client.call("POST", at, {
      connector: "acme",
      customerId: customer.body.data.id,
      config: { base: provider.url },
      credential: { ...provider.issue() }
    })
    assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    await client.call("DELETE", `/api/v1/customers/${customer.body.data.id}`)
    const database = await superuser(dataDir)
    await eventually(
      () => database.query("SELECT 1 FROM credentials WHERE connection_id = $1", [made.body.data.id]),
      ({ rowCount }) => rowCount === 0
    )
    await database.end()
  })

  it("credentials swapped between two rows do not open, and other connections still work", async () => {
    const [a, b, untouched] = [await connect(), await connect(), await connect()]
    const database = await superuser(dataDir)
    await database.query(
      `UPDATE credentials c SET sealed = other.sealed FROM credentials other
       WHERE (c.connection_id = $1 AND other.connection_id = $2) OR (c.connection_id = $2 AND other.connection_id = $1)`,
      [a, b]
    )
    await database.end()
    await end()
    await begin()
    for (const id of [a, b]) assert.strictEqual((await client.call("POST", `${at}/${id}/reveal`, {})).status, 503)
    assert.strictEqual((await client.call("POST", `${at}/${untouched}/reveal`, {})).status, 200)
  })

  it("no row and no log line contains a credential", async () => {
    await end()
    await begin()
    const rows = await readEveryRow(dataDir)
    const hex = Buffer.from("canary_").toString("hex")
    assert.isAbove(rows.size, 20)
    assert.deepStrictEqual(
      [...rows].flatMap(([table, text]) => (text.includes("canary_") || text.includes(hex) ? [table] : [])),
      []
    )
    assert.notInclude(log + current.output(), "canary_")
  })
})

const superuser = async (dataDir: string): Promise<Client> => {
  const cluster = path.join(dataDir, "postgres", "cluster")
  const access: { readonly superuser: string } = JSON.parse(readFileSync(path.join(cluster, "access.json"), "utf8"))
  const port = Number(readFileSync(path.join(cluster, "data", "postmaster.pid"), "utf8").split("\n")[3])
  const client = new Client({ host: "127.0.0.1", port, user: "postgres", password: access.superuser, database: "svc" })
  client.on("error", () => undefined)
  await client.connect()
  return client
}
