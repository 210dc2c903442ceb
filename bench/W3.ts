/**
 * W3: webhooks. A delivery is acknowledged once it is committed, and leads to a run that ends with one call of the stub.
 * Over Postgres alone and over JetStream: a burst, and the time from a request to that call at fixed rates.
 */
import { setTimeout as pause } from "node:timers/promises"
import { Effect, Exit, Scope } from "effect"
import { startNats } from "../test/support/natsServer.js"
import { load, startFloor, startStub, type Stub } from "./support/Children.js"
import { createFloorDatabase } from "./support/Database.js"
import { sentAt } from "./support/SentAt.js"
import { publish, type Service, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"
import { floorTarget, makeTable, measureAt, warmUp, withFloors } from "./support/Throughput.js"

export const burst = Number(process.env["SVC_BENCH_BURST"] ?? 10_000)
const rates = [50, 500] as const
const rateSeconds = 10
const drivers = (process.env["SVC_BENCH_DRIVERS"] ?? "Postgres,JetStream").split(",")

const callBack = (stub: string): string =>
  `await fetch("${stub}/since?at=" + ctx.input.at, { method: "POST", body: "{}" })\n  return 1`

const percentile = (values: ReadonlyArray<number>, part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN

interface Webhook {
  readonly port: number
  readonly path: string
}

export const makeWebhook = async (service: Service, stub: Stub): Promise<Webhook> => {
  const workflowId = await publish(service, "call_back", callBack(stub.url), "standard")
  const made = await service.call("POST", "/api/v1/triggers", {
    type: "webhook",
    name: "W3",
    webhook: { auth: "public" },
    routes: [{ workflowId }]
  })
  const { webhook } = made["data"] as { readonly webhook: { readonly url: string } }
  return { port: service.port, path: new URL(webhook.url).pathname }
}

export const order = ({ path, port }: Webhook) => ({
  port,
  path,
  headers: { "content-type": "application/json" },
  body: `{"at":"${sentAt}"}`,
  connections: 64,
  warmupMillis: 0,
  millis: rateSeconds * 1_000
})

export const awaitCalls = async (stub: Stub, count: number): Promise<void> => {
  while ((await stub.counts()).distinct < count) await pause(10)
}

export const measureBurst = async (service: Service, webhook: Webhook, stub: Stub, count: number) => {
  await stub.reset()
  const before = service.usage().cpu
  const began = performance.now()
  const { result } = await load({ ...order(webhook), count }, () => performance.now())
  await awaitCalls(stub, result.count)
  const { repeatedAfterAnswer } = await stub.counts()
  if (result.errors > 0 || repeatedAfterAnswer > 0)
    throw new Error(`${result.errors} refused, ${repeatedAfterAnswer} called twice`)
  const elapsed = performance.now() - began
  const after = service.usage().cpu
  return {
    acks: result.perSecond,
    runs: (count * 1_000) / elapsed,
    cpu: (["own", "runners", "postgres"] as const).map((part) => ((after[part] - before[part]) / count).toFixed(2)),
    p50: result.p50,
    p99: result.p99
  }
}

export const measureRate = async (webhook: Webhook, stub: Stub, perSecond: number) => {
  await stub.reset()
  const { result } = await load({ ...order(webhook), perSecond, count: perSecond * rateSeconds }, () => 0)
  await awaitCalls(stub, result.count)
  const delays = await stub.delays()
  return { perSecond: result.perSecond, p50: percentile(delays, 0.5), p99: percentile(delays, 0.99) }
}

export const w3 = async (): Promise<void> => {
  const table = new Table(
    "driver",
    "burst: acks/s",
    "runs/s",
    "ack p50 ms",
    "p99",
    "cpu ms an event: main",
    "runners",
    "Postgres",
    "50/s: p50 ms",
    "p99",
    "500/s: p50 ms",
    "p99"
  )
  const stub = await startStub()
  for (const driver of drivers) {
    const scope = Effect.runSync(Scope.make())
    const env: Record<string, string> =
      driver === "JetStream" ? { SVC_NATS_URL: (await Effect.runPromise(Scope.extend(startNats(), scope))).url } : {}
    const service = await startService({ env })
    const webhook = await makeWebhook(service, stub)
    await measureBurst(service, webhook, stub, 2_000)
    const { acks, cpu, p50, p99, runs } = await measureBurst(service, webhook, stub, burst)
    const cells = [acks.toFixed(0), runs.toFixed(0), p50.toFixed(1), p99.toFixed(1), ...cpu]
    for (const rate of rates) {
      const measured = await measureRate(webhook, stub, rate)
      cells.push(measured.p50.toFixed(1), measured.p99.toFixed(1))
    }
    table.add(driver, ...cells)
    if (driver === "Postgres" && withFloors) {
      const floor = await startFloor("group", await createFloorDatabase(service))
      const rows = makeTable()
      const target = floorTarget("floor: group commit", floor)
      await warmUp(target)
      const { perSecond } = await measureAt(rows, target, 64)
      await floor.stop()
      table.note(
        `floor, group commit: ${perSecond.toFixed(0)} acks/s; Postgres' burst is ${(acks / perSecond).toFixed(2)} of it`
      )
    }
    await service.stop()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
  await stub.stop()
  table.print(`W3 webhooks: a burst of ${burst}, and fixed rates from request to call`)
}
