/**
 * Measures how many bytes the service's main process allocates for a run: what V8's trace of its collections says was
 * allocated between them. With `--compare <git ref>` beside another build, in turns.
 */
import { startStub } from "./support/Children.js"
import { median } from "./support/Ratios.js"
import { launch, awaitService, makeDataDirectory, publish, type Service } from "./support/Service.js"
import { Table } from "./support/Table.js"
import { measureAt, serviceTarget, type Target, warmUp } from "./support/Throughput.js"
import { threeCalls } from "./W2.js"

const rounds = Number(process.env["SVC_BENCH_ROUNDS"] ?? 5)

/** A collection as V8 traces it: megabytes of the heap before and after it. */
const collection = /: (?:Scavenge|Mark-Compact)[^\n]*? ([\d.]+) \([\d.]+\) -> ([\d.]+) \(/g

/** Megabytes that were allocated between the collections of a trace. */
const allocated = (trace: string): number => {
  let last: number | undefined
  let sum = 0
  for (const [, before, after] of trace.matchAll(collection)) {
    if (last !== undefined) sum += Number(before) - last
    last = Number(after)
  }
  return sum
}

interface Traced {
  readonly service: Service
  readonly target: Target
}

const startTraced = async (program: string, source: string): Promise<Traced> => {
  const dataDir = makeDataDirectory()
  const service = await awaitService(launch({ dataDir, program, node: ["--trace-gc"] }), dataDir)
  const target = serviceTarget(service, program, await publish(service, "garbage", source))
  await warmUp(target)
  return { service, target }
}

/** Kilobytes of one run. */
const measureRound = async ({ service, target }: Traced): Promise<number> => {
  const before = (await service.child.printed("")).length
  const { count } = await measureAt(new Table(), target, 64)
  return (allocated((await service.child.printed("")).slice(before)) * 1024) / count
}

export const garbage = async (): Promise<void> => {
  const other = process.env["SVC_BENCH_OTHER"]
  const stub = await startStub()
  const source = threeCalls(stub.url)
  const builds = new Map([["this", await startTraced("dist/svc.js", source)]])
  if (other !== undefined) builds.set(process.env["SVC_BENCH_REF"] ?? "other", await startTraced(other, source))
  const measured = new Map<string, Array<number>>()
  for (let round = 0; round < rounds; round++)
    for (const [name, build] of builds) measured.set(name, [...(measured.get(name) ?? []), await measureRound(build)])
  const table = new Table("build", "KB allocated a run", "rounds")
  for (const [name, values] of measured)
    table.add(name, median(values).toFixed(1), values.map((value) => value.toFixed(1)).join(", "))
  for (const { service } of builds.values()) {
    service.child.kill("SIGTERM")
    await service.child.ended
  }
  await stub.stop()
  table.print("W2: what the main process allocates for a run at c=64")
}
