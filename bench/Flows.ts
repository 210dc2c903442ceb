/**
 * Measures a workflow of three connector steps against code with the same three calls, and a call of a flow by its name
 * (surface B) against `execute`. All run on one service, in turns.
 */
import { connectCustomer } from "./Connector.js"
import { startStub } from "./support/Children.js"
import { median, ratios } from "./support/Ratios.js"
import { publish, publishSteps, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"
import { levels, measureAt, type Measurement, serviceTarget, type Target, warmUp } from "./support/Throughput.js"

const rounds = Number(process.env["SVC_BENCH_ROUNDS"] ?? 5)

const steps = ["1", "2", "3"].map((id) => ({
  name: `ping${id}`,
  type: "action",
  connector: "stub",
  action: "ping",
  input: { id, name: "{{input.name}}" }
}))
const code = `for (const id of ["1", "2", "3"]) await svc.connector.stub.ping({ id, name: ctx.input.name })
  return { ok: true }`

const greeting = [{ name: "greet", type: "action", mapping: { text: "Hello {{input.name}}" } }]

interface Musts {
  readonly perSecond: number
  readonly p50: number
}

/** Measures both in turns, and adds the ratios of the first to the second. */
const comparePair = async (table: Table, one: Target, other: Target, musts: Musts): Promise<void> => {
  for (const target of [one, other]) await warmUp(target)
  for (const level of levels.filter((connections) => connections !== 16)) {
    const own: Array<Measurement> = []
    const theirs: Array<Measurement> = []
    for (let round = 0; round < rounds; round++)
      for (const isOwn of round % 2 === 0 ? [false, true] : [true, false])
        (isOwn ? own : theirs).push(await measureAt(new Table(), isOwn ? one : other, level))
    const row = (name: string, of: (measurement: Measurement) => number, digits: number) =>
      table.add(
        `${one.name} / ${other.name}`,
        level,
        name,
        median(own.map(of)).toFixed(digits),
        median(theirs.map(of)).toFixed(digits),
        ratios(own, theirs, of)
      )
    row("runs/s", ({ perSecond }) => perSecond, 0)
    row("p50 ms", ({ p50 }) => p50, 2)
    row("cpu ms/run", ({ cpu }) => cpu.own + cpu.runners + cpu.postgres, 3)
    const ratio = (of: (measurement: Measurement) => number) =>
      median(own.map((measurement, round) => of(measurement) / of(theirs[round] ?? measurement)))
    const verdict = (isMet: boolean) => (isMet ? "reached" : "MISSED")
    table.note(
      level === 64
        ? `${one.name}, c=64: must be at least ${musts.perSecond} of the runs/s: ${verdict(ratio(({ perSecond }) => perSecond) >= musts.perSecond)}`
        : `${one.name}, c=1: p50 must be at most ${musts.p50}: ${verdict(ratio(({ p50 }) => p50) <= musts.p50)}`
    )
  }
}

export const flows = async (): Promise<void> => {
  const stub = await startStub()
  const service = await startService()
  const customer = await connectCustomer(service, stub.url)
  const table = new Table("", "c", "", "first", "second", "first / second, of the rounds")
  const forCustomer = (target: Target): Target => ({ ...target, headers: { ...target.headers, "x-org-id": customer } })
  await comparePair(
    table,
    forCustomer(serviceTarget(service, "three steps", await publishSteps(service, "three_steps", steps))),
    forCustomer(serviceTarget(service, "code", await publish(service, "three_calls", code))),
    { perSecond: 0.8, p50: 1.15 }
  )
  const executed = serviceTarget(service, "execute", await publishSteps(service, "greeting", greeting))
  const { authorization: _, ...headers } = executed.headers
  const named: Target = {
    ...executed,
    name: "by name",
    path: "/api/v1/greeting",
    headers: { ...headers, "x-svc-api-key": service.dev.apiKey, "x-svc-space-id": service.dev.spaceId }
  }
  await comparePair(table, named, executed, { perSecond: 0.95, p50: 1.15 })
  await service.stop()
  await stub.stop()
  table.print(`Flows, ${rounds} rounds in turns, medians`)
}
