/** Promise 1 and 2 for events: what was acknowledged starts its run once, however often the process is killed. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, identity, Scope } from "effect"
import { api, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { startNats } from "../support/natsServer.js"
import { promised } from "../support/promises.js"
import { proofs } from "../support/proofs.js"
import { startProvider, type Provider } from "../support/provider.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"
import { drained } from "../support/webhooks.js"
import { isLong, sampled } from "../support/longForm.js"

// `npm run test:kill` runs the long form.
const events = isLong ? 10_000 : 300
const points = [
  "parsed",
  "committed",
  "claimed",
  "beforeEffect",
  "beforeAppend",
  "appended",
  "beforeCall",
  "called",
  "terminal"
] as const
/** Points that only the relay to a broker passes. */
const relayPoints = ["beforePublish", "published", "acked"] as const
const senders = 16

for (const driver of ["Postgres alone", "JetStream"])
  describe(`An event that was acknowledged, over ${driver}`, () => {
    const scope = Effect.runSync(Scope.make())
    const killPoints =
      driver === "JetStream" ? [...sampled(relayPoints, 2), ...sampled(points, 2, 1)] : sampled(points, 2)
    const kills = isLong ? 50 : killPoints.length
    let natsUrl: string | undefined
    const place = makeDataDirectory()
    const { dataDir } = place
    let systems: Provider
    let current: Service
    let client: Api
    const urls: Array<string> = []

    const restart = async (kill: string | undefined): Promise<void> => {
      await prepareData(dataDir)
      current = startService({
        dataDir,
        env: { SVC_EGRESS_ALLOW: "127.0.0.1/32", ...(natsUrl === undefined ? {} : { SVC_NATS_URL: natsUrl }) },
        ...(kill === undefined ? {} : { kill })
      })
      await current.ready
      client = api(dataDir)
    }

    const trigger = async (name: string, routes: ReadonlyArray<object>, webhook: object = {}) => {
      const made = await client.call("POST", "/api/v1/triggers", {
        type: "webhook",
        name,
        webhook: { auth: "public", deduplicationKey: "n", ...webhook },
        routes
      })
      assert.strictEqual(made.status, 201, JSON.stringify(made.body))
      return new URL(made.body.data.webhook.url).pathname
    }

    beforeAll(async () => {
      systems = await startProvider()
      if (driver === "JetStream") natsUrl = (await Effect.runPromise(Scope.extend(startNats(), scope))).url
      await restart(undefined)
      const calling = await client.workflow(
        "one_call",
        "standard",
        `export default async (ctx) => { await (await fetch("${systems.url}/" + ctx.input.n, { method: "POST" })).text(); return 1 }`
      )
      // Not an Instant one: the kills and restarts of a slow machine may take longer than its deadline of 30 s.
      const computing = await client.workflow("computing", "standard", "export default async (ctx) => ctx.input.n")
      urls.push(
        await trigger("one route", [{ workflowId: calling }]),
        await trigger("without a call", [{ workflowId: computing }]),
        await trigger("two routes", [{ workflowId: calling }, { workflowId: computing }]),
        await trigger("in order", [{ workflowId: computing }], { executionMode: "sequential" })
      )
      current.kill("SIGTERM")
      await current.ended
    })

    afterAll(async () => {
      await proofs(current)
      await systems.close()
      place.remove()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    })

    /** A run whose process dies five times before it makes progress fails: some deaths after each other leave it time. */
    const letRunsEnd = async (): Promise<void> => {
      await restart(undefined)
      // One that the last process took up may be pending: its death counts.
      const withStatus = async (status: string) =>
        (await client.call("GET", `/api/v1/executions?status=${status}&page_size=200`)).body?.data
      const open = async () => {
        const lists = [await withStatus("running"), await withStatus("pending")]
        return lists.every(Array.isArray) ? lists.flat() : undefined
      }
      const found = (await eventually(open, Array.isArray)) ?? []
      const before = new Set(found.map(({ id }: { readonly id: string }) => id))
      await eventually(
        open,
        (running) => Array.isArray(running) && !running.some(({ id }: { id: string }) => before.has(id))
      )
      current.kill("SIGKILL")
      await current.ended
    }

    const keepAlive = async (stopped: () => boolean): Promise<void> => {
      for (let next = 0; !stopped(); next++) {
        const kill =
          next < kills ? `${killPoints[next % killPoints.length]}:${10 + next * (isLong ? 5 : 2)}` : undefined
        await restart(kill)
        if (kill === undefined) return
        await current.ended
        if (next % 4 === 3 && next < kills - 1) await letRunsEnd()
      }
    }

    /** Sends event `n` until it is acknowledged. Returns its id. */
    const send = (n: number) =>
      eventually(
        async () => {
          try {
            const answer = await client.call("POST", urls[n % urls.length] ?? "", { n })
            return answer.status === 202 || answer.status === 200 ? String(answer.body.eventId) : undefined
          } catch {
            return undefined
          }
        },
        (id) => id !== undefined,
        120_000
      )

    it(
      "is never lost, and starts each of its runs once",
      async () => {
        let sent = 0
        const ids: Array<string> = []
        const alive = keepAlive(() => false)
        const sender = async () => {
          while (sent < events) {
            const n = sent++
            ids[n] = String(await send(n))
          }
        }
        // A restart that fails ends the test with its reason, not the senders with their deadline.
        const failed = alive.then(() => new Promise<never>(() => {}))
        await Promise.race([Promise.all(Array.from({ length: senders }, sender)), failed])
        promised("two acknowledged events are one", () => assert.strictEqual(new Set(ids).size, events))
        // The last kill points may need more work than was left.
        const watched = { isAlive: true }
        void alive.then(() => {
          watched.isAlive = false
        }, identity)
        for (let n = events; watched.isAlive; n++) ids[n] = String(await Promise.race([send(n), failed]))

        // The last runs may still be taken over and end.
        const reconciled = await drained(client)
        const failedRuns: Array<unknown> = []
        const runs = new Map<string, number>()
        for (let cursor = ""; ;) {
          const page = await client.call("GET", `/api/v1/executions?page_size=200&cursor=${cursor}`)
          for (const run of page.body.data) {
            if (run.status !== "completed") failedRuns.push(run)
            runs.set(run.trigger.eventId, (runs.get(run.trigger.eventId) ?? 0) + 1)
          }
          cursor = page.body.page.nextCursor ?? ""
          if (cursor === "") break
        }
        const wrong = ids.flatMap((id, n) => {
          const wanted = n % urls.length === 2 ? 2 : 1
          return id === "" || runs.get(id) === wanted ? [] : [[n, id, runs.get(id) ?? 0]]
        })
        promised("events have too few or too many runs", () => assert.deepStrictEqual(wrong, []))
        const { accepted, dead, duplicate, executed, held, ignored, unaccounted } = reconciled
        assert.deepStrictEqual([dead, held, ignored, unaccounted], [0, 0, 0, []], JSON.stringify(reconciled))
        promised("an accepted event is lost", () => assert.strictEqual(accepted, executed + duplicate))
        assert.deepStrictEqual(failedRuns, [])
        console.log(`${events} events, ${kills} kills: ${duplicate} were sent again and recognised`)
      },
      isLong ? 3_600_000 : 480_000
    )
  })
