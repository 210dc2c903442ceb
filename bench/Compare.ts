/**
 * W1 and W2 on two builds in turns: this one, and the one that `npm run bench -- W2 --compare <git ref>` has built. Both
 * services run all the time and one of them has load, so that a gain can be told from the machine's weather.
 */
import { startStub } from "./support/Children.js"
import { publish, type Service, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"
import {
  levels,
  type Level,
  measureAt,
  type Measured,
  serviceTarget,
  type Target,
  warmUp
} from "./support/Throughput.js"
import { threeCalls } from "./W2.js"

const rounds = Number(process.env["SVC_BENCH_ROUNDS"] ?? 5)
/** `SVC_BENCH_LEVELS=64` leaves the others out. */
const asked = process.env["SVC_BENCH_LEVELS"]?.split(",") ?? []
const compared = levels.filter((level) => asked.length === 0 || asked.includes(String(level)))

interface Build {
  readonly name: string
  readonly service: Service
  readonly target: Target
}

const startBuild = async (name: string, program: string, source: string): Promise<Build> => {
  const service = await startService({ program })
  return { name, service, target: serviceTarget(service, name, await publish(service, "compared", source)) }
}

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

const perRequest = ({ cpu }: Measured): number => cpu.own + cpu.runners + cpu.postgres

/** Smallest, median and largest of the rounds' ratios. */
const ratios = (
  own: ReadonlyArray<Measured>,
  other: ReadonlyArray<Measured>,
  of: (one: Measured) => number
): string => {
  const each = own.map((one, round) => of(one) / of(other[round] ?? one))
  return [Math.min(...each), median(each), Math.max(...each)].map((ratio) => ratio.toFixed(2)).join(" … ")
}

const compareAt = async (table: Table, own: Build, other: Build, level: Level): Promise<void> => {
  const found = { own: new Array<Measured>(), other: new Array<Measured>() }
  for (let round = 0; round < rounds; round++) {
    const measured = async (which: "own" | "other") =>
      found[which].push(await measureAt(new Table(), (which === "own" ? own : other).target, level))
    // Who comes first changes: what the machine does over minutes reaches both alike.
    for (const which of round % 2 === 0 ? (["other", "own"] as const) : (["own", "other"] as const))
      await measured(which)
  }
  const row = (name: string, of: (one: Measured) => number, digits: number) =>
    table.add(
      level,
      name,
      median(found.own.map(of)).toFixed(digits),
      median(found.other.map(of)).toFixed(digits),
      ratios(found.own, found.other, of)
    )
  row("runs/s", ({ perSecond }) => perSecond, 0)
  row("p50 ms", ({ p50 }) => p50, 2)
  row("p99 ms", ({ p99 }) => p99, 2)
  row("cpu ms/run", perRequest, 3)
  row("  of it main", ({ cpu }) => cpu.own, 3)
  row("  runners", ({ cpu }) => cpu.runners, 3)
  row("  Postgres", ({ cpu }) => cpu.postgres, 3)
}

const compare = async (title: string, source: string): Promise<void> => {
  const program = process.env["SVC_BENCH_OTHER"] ?? ""
  const ref = process.env["SVC_BENCH_REF"] ?? ""
  if (program === "") throw new Error("name the other build: npm run bench -- W1 --compare <git ref>")
  const other = await startBuild(ref, program, source)
  const own = await startBuild("this", "dist/svc.js", source)
  for (const { target } of [other, own]) await warmUp(target)
  const table = new Table("c", "", "this", ref, "this / other, of the rounds")
  for (const level of compared) await compareAt(table, own, other, level)
  await own.service.stop()
  // An earlier build has proofs of its own, or none.
  other.service.child.kill("SIGTERM")
  await other.service.child.ended
  table.print(`${title}: this build and ${ref}, ${rounds} rounds in turns, medians`)
}

export const compareW1 = (): Promise<void> => compare("W1", "return { hello: ctx.input.name }")

export const compareW2 = async (): Promise<void> => {
  const stub = await startStub()
  await compare("W2", threeCalls(stub.url))
  await stub.stop()
}
