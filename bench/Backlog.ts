/**
 * What a backlog of events of the lowest class costs those of the highest on the same node: the time from the request of an
 * event to the call of its run, and that of an Instant start, without the backlog and while it is being worked off.
 */
import { awaitCalls } from "./W3.js"
import { load, startStub, type Stub } from "./support/Children.js"
import { sentAt } from "./support/SentAt.js"
import { publish, type Service, startService } from "./support/Service.js"
import { countWaiting, insertWaiting, settleOne } from "./support/StoredEvents.js"
import { Table } from "./support/Table.js"

const waiting = Number(process.env["SVC_BENCH_WAITING"] ?? 100_000)
const perSecond = 50
const seconds = 10
const rounds = Number(process.env["SVC_BENCH_ROUNDS"] ?? 3)

const makeTrigger = async (service: Service, name: string, body: string): Promise<void> => {
  const workflowId = await publish(service, name, body, "standard")
  const type = `bench.${name}`
  await service.call("POST", "/api/v1/triggers", { type: "event", name, event: { type }, routes: [{ workflowId }] })
}

const percentile = (values: ReadonlyArray<number>, part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN

interface Latency {
  readonly p50: number
  readonly p99: number
}

const measure = async (service: Service, stub: Stub, workflow: string) => {
  const { headers, port } = service
  const common = { port, headers, connections: 64, warmupMillis: 0, millis: 0, perSecond, count: perSecond * seconds }
  await stub.reset()
  const body = `{"type":"bench.first","payload":{"at":"${sentAt}"}}`
  const { result } = await load({ ...common, path: "/api/v1/events", body }, () => 0)
  await awaitCalls(stub, result.count)
  const delays = await stub.delays()
  const event: Latency = { p50: percentile(delays, 0.5), p99: percentile(delays, 0.99) }
  const path = `/api/v1/workflows/${workflow}/execute`
  const { result: start } = await load({ ...common, path, body: `{"input":{"name":"you"}}` }, () => 0)
  if (result.errors + start.errors > 0)
    throw new Error(`${result.errors} events and ${start.errors} starts were refused`)
  return { event, start }
}

export const backlog = async (): Promise<void> => {
  const table = new Table("round", "waiting", "event: p50 ms", "p99", "start: p50 ms", "p99", "drained/s")
  const stub = await startStub()
  const other = await startStub()
  const service = await startService()
  await makeTrigger(
    service,
    "first",
    `await fetch("${stub.url}/since?at=" + ctx.input.at, { method: "POST", body: "{}" })\n  return 1`
  )
  await makeTrigger(service, "last", `await fetch("${other.url}", { method: "POST", body: "{}" })\n  return 1`)
  const workflow = await publish(service, "trivial", "return { hello: ctx.input.name }")
  const template = await settleOne(service, "/api/v1/events", { type: "bench.last", payload: { n: 1 } })
  await measure(service, stub, workflow)
  await measure(service, stub, workflow)
  const idle: Array<Latency> = []
  const loaded: Array<Latency> = []
  const add = (
    round: number,
    before: number,
    drained: string,
    { event, start }: { event: Latency; start: Latency }
  ) => {
    const cells = [event.p50, event.p99, start.p50, start.p99].map((millis) => millis.toFixed(1))
    table.add(round, before, ...cells, drained)
  }
  for (let round = 1; round <= rounds; round++) {
    const alone = await measure(service, stub, workflow)
    add(round, 0, "", alone)
    idle.push(alone.event, alone.start)
    await insertWaiting(service, template, { count: waiting, priority: 4 })
    const began = performance.now()
    const before = await countWaiting(service)
    const beside = await measure(service, stub, workflow)
    const after = await countWaiting(service)
    if (after === 0) throw new Error("the backlog ended before the measurement: raise SVC_BENCH_WAITING")
    add(round, before, (((before - after) * 1_000) / (performance.now() - began)).toFixed(0), beside)
    loaded.push(beside.event, beside.start)
    while ((await countWaiting(service)) > 0) await new Promise((resolve) => setTimeout(resolve, 200))
  }
  const middle = (all: ReadonlyArray<Latency>, nth: number) =>
    percentile(
      all.filter((_, i) => i % 2 === nth).map(({ p99 }) => p99),
      0.5
    )
  for (const [nth, what] of ["events", "Instant starts"].entries())
    table.note(
      `${what}: the p99 beside the backlog is ${(middle(loaded, nth) / middle(idle, nth)).toFixed(2)} of that without; must 3`
    )
  table.print(`The highest class beside ${waiting} waiting events of the lowest, at ${perSecond}/s`)
  await service.stop()
  await stub.stop()
  await other.stop()
}
