/**
 * Measures W1, W2 and bursts of W3 on two builds in turns: this build, and the one of `npm run bench -- W2 --compare <git ref>`. Both
 * services run the whole time and one at a time has load, so that changes of the machine's speed affect both alike. Fails if this
 * build's runs take more CPU, by the rule of `Dearer.ts`.
 */
import { startStub } from "./support/Children.js"
import { failDearer, isDearer } from "./support/Dearer.js"
import { publish, type Service, startService } from "./support/Service.js"
import { median, ratios } from "./support/Ratios.js"
import { Table } from "./support/Table.js"
import {
  levels,
  type Level,
  measureAt,
  type Measurement,
  serviceTarget,
  type Target,
  warmUp
} from "./support/Throughput.js"
import { threeCalls } from "./W2.js"
import { burst, makeWebhook, measureBurst } from "./W3.js"

const rounds = Number(process.env["SVC_BENCH_ROUNDS"] ?? 5)
/** Numbers of connections to measure at, e.g. `SVC_BENCH_LEVELS=64`; by default all. */
const levelNames = process.env["SVC_BENCH_LEVELS"]?.split(",") ?? []
const comparedLevels = levels.filter((level) => levelNames.length === 0 || levelNames.includes(String(level)))

interface Build {
  readonly name: string
  readonly service: Service
  readonly target: Target
}

const startBuild = async (name: string, program: string, source: string): Promise<Build> => {
  const service = await startService({ program })
  return { name, service, target: serviceTarget(service, name, await publish(service, "compared", source)) }
}

const perRequest = ({ cpu }: Measurement): number => cpu.own + cpu.runners + cpu.postgres

const compareAt = async (title: string, makeTable: Table, own: Build, other: Build, level: Level): Promise<void> => {
  const measurements = { own: new Array<Measurement>(), other: new Array<Measurement>() }
  for (let round = 0; round < rounds; round++) {
    const measureBuild = async (which: "own" | "other") =>
      measurements[which].push(await measureAt(new Table(), (which === "own" ? own : other).target, level))
    // The order alternates, so that changes of the machine over minutes affect both builds alike.
    for (const which of round % 2 === 0 ? (["other", "own"] as const) : (["own", "other"] as const))
      await measureBuild(which)
  }
  const row = (name: string, of: (measurement: Measurement) => number, digits: number) =>
    makeTable.add(
      level,
      name,
      median(measurements.own.map(of)).toFixed(digits),
      median(measurements.other.map(of)).toFixed(digits),
      ratios(measurements.own, measurements.other, of)
    )
  row("runs/s", ({ perSecond }) => perSecond, 0)
  row("p50 ms", ({ p50 }) => p50, 2)
  row("p99 ms", ({ p99 }) => p99, 2)
  row("cpu ms/run", perRequest, 3)
  row("  of it main", ({ cpu }) => cpu.own, 3)
  row("  runners", ({ cpu }) => cpu.runners, 3)
  row("  Postgres", ({ cpu }) => cpu.postgres, 3)
  if (isDearer(measurements.own.map(perRequest), measurements.other.map(perRequest)))
    failDearer(`${title} at c=${level}`)
}

const otherBuild = (): { readonly program: string; readonly ref: string } => {
  const program = process.env["SVC_BENCH_OTHER"] ?? ""
  if (program === "") throw new Error("name the other build: npm run bench -- W1 --compare <git ref>")
  return { program, ref: process.env["SVC_BENCH_REF"] ?? "" }
}

const compare = async (title: string, source: string): Promise<void> => {
  const { program, ref } = otherBuild()
  const other = await startBuild(ref, program, source)
  const own = await startBuild("this", "dist/svc.js", source)
  for (const { target } of [other, own]) await warmUp(target)
  const makeTable = new Table("c", "", "this", ref, "this / other, of the rounds")
  for (const level of comparedLevels) await compareAt(title, makeTable, own, other, level)
  await own.service.stop()
  // The other build is not asked for its proofs: an earlier build may have other ones, or none.
  other.service.child.kill("SIGTERM")
  await other.service.child.ended
  makeTable.print(`${title}: this build and ${ref}, ${rounds} rounds in turns, medians`)
}

export const compareW1 = (): Promise<void> => compare("W1", "return { hello: ctx.input.name }")

export const compareW2 = async (): Promise<void> => {
  const stub = await startStub()
  await compare("W2", threeCalls(stub.url))
  await stub.stop()
}

export const compareW3 = async (): Promise<void> => {
  const stub = await startStub()
  const { program, ref } = otherBuild()
  const services = { other: await startService({ program }), own: await startService({ program: "dist/svc.js" }) }
  const webhooks = { other: await makeWebhook(services.other, stub), own: await makeWebhook(services.own, stub) }
  type Burst = Awaited<ReturnType<typeof measureBurst>>
  const bursts = { own: new Array<Burst>(), other: new Array<Burst>() }
  for (const which of ["other", "own"] as const) await measureBurst(services[which], webhooks[which], stub, 2_000)
  for (let round = 0; round < rounds; round++)
    for (const which of round % 2 === 0 ? (["other", "own"] as const) : (["own", "other"] as const))
      bursts[which].push(await measureBurst(services[which], webhooks[which], stub, burst))
  const table = new Table("", "this", ref, "this / other, of the rounds")
  const row = (name: string, of: (one: Burst) => number, digits: number) =>
    table.add(
      name,
      median(bursts.own.map(of)).toFixed(digits),
      median(bursts.other.map(of)).toFixed(digits),
      ratios(bursts.own, bursts.other, of)
    )
  row("acks/s", ({ acks }) => acks, 0)
  row("runs/s", ({ runs }) => runs, 0)
  for (const [n, part] of ["main", "runners", "Postgres"].entries())
    row(`cpu ms an event: ${part}`, ({ cpu }) => Number(cpu[n]), 2)
  const perEvent = ({ cpu }: Burst): number => cpu.reduce((sum, part) => sum + Number(part), 0)
  row("cpu ms an event", perEvent, 2)
  if (isDearer(bursts.own.map(perEvent), bursts.other.map(perEvent))) failDearer("W3")
  await services.own.stop()
  services.other.child.kill("SIGTERM")
  await services.other.child.ended
  await stub.stop()
  table.print(`W3: bursts of ${burst} webhooks to this build and ${ref}, ${rounds} rounds in turns, medians`)
}
