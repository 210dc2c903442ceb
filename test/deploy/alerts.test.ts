/**
 * Each alert fires over metrics that are scraped from a service in that trouble, and no other does; none fires for a service that
 * is well. Those of nodes are in `nodeAlerts.test.ts`.
 */
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Redacted, Scope } from "effect"
import * as fs from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { Client } from "pg"
import { Egress } from "../../src/actors/ports/Egress.js"
import { HeldBytes } from "../../src/actors/ports/HeldBytes.js"
import { egress } from "../../src/domain/Limits.js"
import { alertRules, startPrometheus } from "../support/alerts/Rules.js"
import { sharedGauges } from "../support/alerts/SharedGauges.js"
import { TestDatabase } from "../support/Database.js"
import { root } from "../support/deploy/Dockerfile.js"
import { eventually } from "../support/eventually.js"
import { withEndlessMemory } from "../support/holdings.js"
import { type Running, start } from "../support/InProcess.js"
import { announce } from "../support/LogExpectations.js"
import { type NatsServer, startNats } from "../support/natsServer.js"
import { ownerOf } from "../support/shareOwners.js"

const scope = Effect.runSync(Scope.make())
let svc: Running
let admin: Client
let nats: NatsServer
let prometheus = startPrometheus()
const names = new Set<string>()

beforeAll(async () => {
  nats = await Effect.runPromise(Scope.extend(startNats(), scope))
  svc = await start({ SVC_NATS_URL: nats.url, SVC_EGRESS_ALLOW: "127.0.0.1/32" })
  admin = new Client({ connectionString: Redacted.value((await svc.run(TestDatabase)).admin) })
  await admin.connect()
})
afterAll(async () => {
  await admin.end()
  await svc.stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})
beforeEach(() => {
  prometheus = startPrometheus()
})

const key = () => svc.first.key
const metrics = async () => (await svc.ask("GET", "/metrics")).text
const hasMetric = (line: RegExp) => eventually(metrics, (text) => line.test(text))

/** Scrapes so often, and returns the alerts that fire. */
const alertsAfter = async (count: number, between?: () => Promise<unknown>) => {
  await prometheus.observe(new Map([["node", metrics]]), count, between)
  for (const name of prometheus.names()) names.add(name)
  return prometheus.firing()
}
/** More than the ten minutes that rules look back and wait. */
const long = 24

/** A workflow of this code, published. */
const makeWorkflow = async (name: string, code: string): Promise<string> => {
  const made = await svc.ask("POST", "/api/v1/workflows", {
    key: key(),
    body: { name, form: "code", tier: "standard", code }
  })
  const { id } = made.body.data
  assert.strictEqual((await svc.ask("POST", `/api/v1/workflows/${id}/publish`, { key: key(), body: {} })).status, 200)
  return id
}

const isWell = async () => {
  const { body } = await eventually(
    () => svc.ask("GET", "/readyz"),
    ({ body }) => body.status === "ready"
  )
  return body
}

describe.sequential("of a service", () => {
  it("that is well, and works, no alert fires", async () => {
    await isWell()
    const limited = await svc.ask("POST", "/api/v1/api-keys", {
      key: key(),
      body: { name: "one", mode: "live", preset: "full_access", rateLimitPerMinute: 1 }
    })
    // Also over the end of a minute one of them is over the limit.
    for (let n = 0; n < 3; n++) await svc.ask("GET", "/api/v1/customers", { key: limited.body.data.key })
    const work = () =>
      svc.ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, { key: key(), body: { input: {} } })
    assert.deepStrictEqual([...(await alertsAfter(long, work)).keys()], [])
  })

  it("whose Postgres refuses writes, SvcDatabaseRefuses and SvcUnavailable fire", async () => {
    announce(/database\.refuses.*"condition":"disk_full"/, { required: true })
    await admin.query(`CREATE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'full'; END $$;
      CREATE TRIGGER refuse_write BEFORE INSERT ON customers FOR EACH ROW EXECUTE FUNCTION refuse_write()`)
    const write = async () => {
      for (let n = 0; n < 5; n++) {
        const { status } = await svc.ask("POST", "/api/v1/customers", { key: key(), body: { name: "Acme" } })
        assert.strictEqual(status, 503)
      }
    }
    const fired = await alertsAfter(long, write)
    assert.deepStrictEqual([...fired.keys()], ["SvcDatabaseRefuses", "SvcUnavailable"])
    assert.deepStrictEqual(fired.get("SvcDatabaseRefuses"), [{ condition: "disk_full" }])
    await admin.query("DROP FUNCTION refuse_write CASCADE")
    await isWell()
    assert.deepStrictEqual([...(await alertsAfter(long)).keys()], [], "once it is over")
  })

  it("that cannot read what is stored, SvcInternalErrors fires", async () => {
    announce(/UnexpectedRow.*the table customers/s, { required: true })
    const made = await svc.ask("POST", "/api/v1/customers", { key: key(), body: { name: "Broken" } })
    const { id } = made.body.data
    await admin.query(`UPDATE customers SET limits = '{"triggers": "many"}' WHERE id = $1`, [id])
    const read = () => svc.ask("GET", `/api/v1/customers/${id}`, { key: key() })
    assert.strictEqual((await read()).status, 500)
    assert.deepStrictEqual([...(await alertsAfter(3, read)).keys()], ["SvcInternalErrors"])
    await admin.query("UPDATE customers SET limits = '{}' WHERE id = $1", [id])
  })

  it("with a task that Postgres refuses, SvcTaskFailing fires and names it", async () => {
    announce(/background_task\.failed.*"task":"keys.uses"/, { required: true })
    await admin.query("REVOKE UPDATE ON api_keys FROM svc_writer")
    await svc.ask("GET", "/api/v1/customers", { key: key() })
    await hasMetric(/^svc_task_failing\{task="keys.uses"\} 1$/m)
    const fired = await alertsAfter(long)
    assert.deepStrictEqual([...fired], [["SvcTaskFailing", [{ task: "keys.uses" }]]])
    await admin.query("GRANT UPDATE ON api_keys TO svc_writer")
    await isWell()
  })

  it("with a job that fails again and again, SvcJobsSetAside fires and names its task", async () => {
    announce(/background_task\.job_(?:failed|set_aside).*events\.replay/, { required: true })
    const id = "rpl_00000000000000000000000001"
    await admin.query(
      `INSERT INTO replays (id, org, space, filter, most, per_second, created_by)
       VALUES ($1, $2, $3, '{"createdAfter":"https://[::1"}', 10, 10, 'test')`,
      [id, svc.first.organisationId, svc.first.spaceId]
    )
    await eventually(
      async () => {
        await admin.query("UPDATE replays SET next_at = now() WHERE status = 'running'")
        return metrics()
      },
      (text) => /^svc_task_jobs_set_aside\{task="events.replay"\} 1$/m.test(text)
    )
    assert.deepStrictEqual([...(await alertsAfter(long))], [["SvcJobsSetAside", [{ task: "events.replay" }]]])
    await admin.query("DELETE FROM replays WHERE id = $1", [id])
    await admin.query("DELETE FROM failed_jobs")
    await isWell()
  })

  it("that cannot seal the audit trail, SvcAuditUnsealed fires", async () => {
    announce(/"audit\.seal_failed"|"background_task\.failed".*"task":"audit\.seal"/, { required: true })
    await admin.query(`CREATE FUNCTION refuse_seal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
      CREATE TRIGGER refuse_seal BEFORE INSERT ON audit_seal FOR EACH ROW EXECUTE FUNCTION refuse_seal()`)
    // It has waited for two minutes.
    const entry = {
      id: "aud_00000000000000000000000007",
      organisationId: svc.first.organisationId,
      at: new Date(Date.now() - 120_000).toISOString(),
      actor: { type: "system", id: "test", name: "test" },
      action: "test.act",
      resource: { type: "test", id: "test", name: null }
    }
    await admin.query(
      `INSERT INTO audit_entries (id, org, at, xid, actor_type, actor_id, action, resource_type, resource_id, outcome, entry)
       VALUES ($1, $2, $3, pg_current_xact_id()::text::bigint, 'system', 'test', 'test.act', 'test', 'test', 'success', $4)`,
      [entry.id, entry.organisationId, entry.at, JSON.stringify(entry)]
    )
    await svc.ask("POST", "/api/v1/customers", { key: key(), body: { name: "Unsealed" } })
    await hasMetric(/^svc_task_failures_total\{task="audit.seal"\} [1-9]/m)
    await hasMetric(/^svc_audit_oldest_unsealed_seconds 1\d\d/m)
    const fired = await alertsAfter(long)
    assert.include([...fired.keys()], "SvcAuditUnsealed")
    assert.deepStrictEqual(
      [...fired.keys()].filter((name) => name !== "SvcAuditUnsealed" && name !== "SvcTaskFailing"),
      []
    )
    await admin.query("DROP FUNCTION refuse_seal CASCADE")
    await isWell()
  })

  it("with an event that has failed for good, SvcDeadLetters fires", async () => {
    const workflow = await makeWorkflow("fails", `export default async () => { throw new Error("no") }`)
    const { body } = await svc.ask("POST", "/api/v1/triggers", {
      key: key(),
      body: {
        type: "webhook",
        name: "poison",
        webhook: { auth: "public" },
        delivery: { maxAttempts: 1 },
        routes: [{ workflowId: workflow }]
      }
    })
    const sent = await svc.ask("POST", new URL(body.data.webhook.url).pathname, { body: { n: 1 } })
    assert.strictEqual(sent.status, 202, sent.text)
    await hasMetric(/^svc_dead_letters [1-9]/m)
    assert.deepStrictEqual([...(await alertsAfter(long)).keys()], ["SvcDeadLetters"])
    await admin.query("DELETE FROM dead_letters")
  })

  it("whose memory for bytes from outside is held by others, SvcMemoryRefused fires for the node", async () => {
    await prometheus.observe(new Map([["node", metrics]]), 2)
    await svc.run(
      Effect.gen(function* () {
        const { open, readings } = yield* HeldBytes
        const holdings = ["one", "two", "three", "four", "five"].map((owner) => open(ownerOf(owner), "bodies"))
        // As much as there is, in pieces.
        for (let size = readings().capacity; size >= 1_024; size = Math.floor(size / 2))
          for (const holding of holdings) while (holding.tryTake(size));
        const late = open(ownerOf("late"), "bodies")
        const refused = yield* Effect.async<boolean>((resume) => {
          late.take(1_048_576, (refusal) => resume(Effect.succeed(refusal !== undefined)))
        })
        assert.isTrue(refused)
        for (const holding of [...holdings, late]) holding.release()
      })
    )
    assert.deepStrictEqual([...(await alertsAfter(2))], [["SvcMemoryRefused", [{ instance: "node" }]]])
  })

  it("whose partner takes all connections, SvcEgressRefused fires for the node", async () => {
    await prometheus.observe(new Map([["node", metrics]]), 2)
    const open = new Set<() => void>()
    const server: Server = createServer((_, response) => void open.add(() => response.end()))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const send = Effect.flatMap(Egress, ({ send }) =>
      send({
        owner: ownerOf(svc.first.organisationId),
        method: "GET",
        url,
        headers: [],
        body: null,
        timeout: Duration.seconds(2),
        maxBytes: 1_024,
        redirects: 0
      })
    ).pipe(withEndlessMemory, Effect.either)
    await svc.run(
      Effect.all(
        Array.from({ length: egress.connectionsPerOrigin + 1 }, () => send),
        { concurrency: "unbounded" }
      )
    )
    for (const end of open) end()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    assert.deepStrictEqual([...(await alertsAfter(2))], [["SvcEgressRefused", [{ instance: "node" }]]])
  })

  it("whose NATS server is away, SvcEventStreamClosed fires", async () => {
    announce(/event_stream\.(?:away|repaired)/)
    await Effect.runPromise(nats.kill)
    await hasMetric(/^svc_event_stream_open 0$/m)
    assert.deepStrictEqual([...(await alertsAfter(long)).keys()], ["SvcEventStreamClosed"])
    await Effect.runPromise(nats.start)
    await hasMetric(/^svc_event_stream_open 1$/m)
    assert.deepStrictEqual([...(await alertsAfter(long)).keys()], [])
  })
})

describe("the expressions of alerts, of the dashboard and of the autoscaler", () => {
  const read = (file: string) => fs.readFileSync(`${root}/deploy/${file}`, "utf8")
  const dashboard: {
    readonly panels: ReadonlyArray<{
      readonly title: string
      readonly targets?: ReadonlyArray<{ readonly expr: string }>
    }>
  } = JSON.parse(read("grafana/svc.json"))
  const adapter = read("kubernetes/overlays/unfinished-runs/metrics-adapter.yaml")
  const all = [
    ...alertRules.map(({ alert, expr }) => [alert, expr] as const),
    ...dashboard.panels.flatMap(({ targets = [], title }) => targets.map(({ expr }) => [title, expr] as const)),
    ...[...adapter.matchAll(/seriesQuery: '([^']+)'/g)].map(([, expr = ""]) => ["the adapter", expr] as const)
  ]

  it("read only metrics that a service has", () => {
    assert.isAtLeast(all.length, 35)
    for (const [place, expr] of all) {
      const found = [...expr.matchAll(/\b(?:svc|process|nodejs)_\w+/g)].map(([name]) => name)
      for (const name of found) assert.isTrue(names.has(name), `${place}: there is no metric ${name}`)
      assert.isTrue(found.length > 0 || /\bup\b/.test(expr), place)
    }
  })

  it("sum nothing that every node reports alike", () => {
    const summed = (expr: string) =>
      sharedGauges.filter((name) =>
        new RegExp(`\\b(?:sum|avg|count)\\s*(?:by\\s*\\([^)]*\\)\\s*)?\\(\\s*(?:\\w+\\()*${name}\\b`).test(expr)
      )
    assert.deepStrictEqual(summed("sum by (job) (svc_queue_waiting)"), ["svc_queue_waiting"])
    for (const [place, expr] of all) assert.deepStrictEqual(summed(expr), [], place)
    const external = adapter.slice(adapter.indexOf("externalRules"))
    assert.include(external, "metricsQuery: max(")
    for (const name of sharedGauges) {
      const used = all.filter(([, expr]) => expr.includes(name) && !expr.includes("{namespace"))
      for (const [place, expr] of used) assert.match(expr, /^max\b/, `${place}: ${expr}`)
    }
  })

  it("have, of each alert, a test that makes it fire", () => {
    const tests = ["alerts", "nodeAlerts"].map((name) => fs.readFileSync(`${root}/test/deploy/${name}.test.ts`, "utf8"))
    for (const { alert } of alertRules)
      assert.isTrue(
        tests.some((text) => text.includes(`"${alert}"`)),
        alert
      )
  })
})
