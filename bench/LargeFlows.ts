/**
 * The largest flows: saving 200 steps against saving the code that they are exported as, and a loop of 9,990 calls whose answers
 * have 10 KB each, killed after its last iteration.
 */
import { setTimeout as pause } from "node:timers/promises"
import { connectCustomer } from "./Connector.js"
import { startStub } from "./support/Children.js"
import { median, ratios } from "./support/Ratios.js"
import { publishWorkflow, type Service, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"

const rounds = Number(process.env["SVC_BENCH_ROUNDS"] ?? 9)
const iterations = 9_990

const step = (n: number, comment: string) => ({
  name: `step${n}`,
  type: "action",
  connector: "stub",
  action: "ping",
  input: { id: `${n}`, name: n === 0 ? `{{input.name}} ${comment}` : `{{steps.step${n - 1}.output.ok}}` }
})
const specOf = (comment: string) => ({ steps: Array.from({ length: 200 }, (_, n) => step(n, comment)) })

const textOf = async ({ headers, port }: Service, path: string): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`)
  return answer.text()
}

const idOf = ({ data }: { readonly [member: string]: unknown }): string => {
  if (typeof data !== "object" || data === null || !("id" in data)) throw new Error("no id")
  return String(data.id)
}

/** Each save has text of its own, so that none is answered from what is known. */
const measureSaving = async (service: Service): Promise<void> => {
  const create = (body: object) => service.call("POST", "/api/v1/workflows", body)
  const steps = idOf(await create({ name: "by_steps", form: "steps", spec: specOf("first") }))
  const source = await textOf(service, `/api/v1/workflows/${steps}/export?format=code`)
  const code = idOf(await create({ name: "by_code", form: "code", code: source }))
  const millis = async (save: () => Promise<unknown>): Promise<number> => {
    const began = performance.now()
    await save()
    return performance.now() - began
  }
  const own: Array<number> = []
  const theirs: Array<number> = []
  for (let round = -2; round < rounds; round++) {
    const one = await millis(() => service.call("PUT", `/api/v1/workflows/${steps}`, { spec: specOf(`${round}`) }))
    const other = await millis(() =>
      service.call("PUT", `/api/v1/workflows/${code}`, { code: `${source}\n// ${round}\n` })
    )
    if (round < 0) continue
    own.push(one)
    theirs.push(other)
  }
  const table = new Table("", "200 steps", "their code", "steps / code, of the rounds")
  const ratio = median(own.map((one, round) => one / (theirs[round] ?? one)))
  table.add(
    "saving, ms",
    median(own).toFixed(1),
    median(theirs).toFixed(1),
    ratios(own, theirs, (one) => one)
  )
  table.note(`must be at most 3: ${ratio <= 3 ? "reached" : "MISSED"}`)
  table.print(`Saving a flow, ${rounds} rounds in turns, medians`)
}

const loop = {
  name: "each",
  type: "loop",
  config: {
    over: "{{input.items}}",
    maxIterations: iterations,
    concurrency: 20,
    result: "{{steps.get.output.ok}}",
    steps: [{ name: "get", type: "action", connector: "stub", action: "large" }]
  }
}
const hold = { name: "hold", type: "action", connector: "stub", action: "held", dependsOn: ["each"] }

const publishLoop = (service: Service, name: string, steps: ReadonlyArray<object>): Promise<string> =>
  publishWorkflow(service, { name, form: "steps", tier: "long", spec: { steps } })

/** Starts a run with so many items; returns its id. */
const startLoop = async (service: Service, customer: string, workflow: string, items: number): Promise<string> => {
  const input = { items: Array.from({ length: items }, (_, n) => n) }
  const started = await fetch(`http://127.0.0.1:${service.port}/api/v1/workflows/${workflow}/execute`, {
    method: "POST",
    headers: { ...service.headers, "x-org-id": customer },
    body: JSON.stringify({ input })
  })
  if (started.status !== 202) throw new Error(await started.text())
  const { executionId }: { readonly executionId: string } = JSON.parse(await started.text())
  return executionId
}

/** The largest memory of the service until `done`. */
const watchMemory = async (service: Service, done: () => Promise<boolean>): Promise<number> => {
  let most = 0
  while (!(await done())) {
    most = Math.max(most, service.usage().memory.own)
    await pause(100)
  }
  return most
}

export const largeFlows = async (): Promise<void> => {
  const stub = await startStub()
  const service = await startService()
  const { dataDir } = service
  const customer = await connectCustomer(service, stub.url)
  await measureSaving(service)
  // The same loop, a tenth as long: what the node needs for any such run is no growth.
  await stub.reset()
  const short = await publishLoop(service, "short_loop", [loop])
  await startLoop(service, customer, short, iterations / 10)
  const before = await watchMemory(service, async () => (await stub.counts()).distinct >= Math.floor(iterations / 10))
  const workflow = await publishLoop(service, "large_loop", [loop, hold])
  await stub.reset()
  const began = Date.now()
  const executionId = await startLoop(service, customer, workflow, iterations)
  const most = await watchMemory(service, async () => (await stub.counts()).distinct > iterations)
  const loopMillis = Date.now() - began
  service.child.kill("SIGKILL")
  await service.child.ended
  await stub.mark()
  const restarted = Date.now()
  const again = await startService({ dataDir, npm: true })
  const readyMillis = Date.now() - restarted
  // Seldom, since asking takes time from the restart; the stub notes when the call came.
  let counts = await stub.counts()
  for (const until = Date.now() + 120_000; Date.now() < until && counts.firstSinceMark === null; await pause(250))
    counts = await stub.counts()
  const resumed = (counts.firstSinceMark ?? Number.NaN) - restarted
  await again.call("POST", `/api/v1/executions/${executionId}/cancel`, {})
  const { data } = await again.call("GET", `/api/v1/executions/${executionId}`)
  const table = new Table("", "value", "must")
  table.add("calls before the kill", iterations + 1, "")
  table.add("the loop, ms", loopMillis, "")
  table.add("memory of the node more than in a tenth of it, MB", (most - before).toFixed(0), "64")
  table.add("calls made again that were answered", counts.repeatedAfterAnswer, "0")
  table.add("restart to ready, ms", readyMillis, "")
  table.add("restart to the call that was in flight, ms", resumed, "5000")
  table.note(`metrics of the run: ${JSON.stringify((data as { readonly metrics?: unknown }).metrics)}`)
  table.print("A loop of 9,990 calls with answers of 10 KB, killed in the call after it")
  await again.stop()
  await stub.stop()
}
