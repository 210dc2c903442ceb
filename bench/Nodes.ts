/**
 * What several nodes cost and give, against one process under the same load: W1, W2 and W3 through one `api` and two `runner`
 * nodes and through one node of a cluster, in turns; how fast shards that a node leaves answer again; starts, and idle nodes.
 * All nodes share the cores of this machine, so that more nodes can show their cost, and not what more machines give.
 */
import { randomBytes } from "node:crypto"
import { availableParallelism } from "node:os"
import { setTimeout as pause } from "node:timers/promises"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Client } from "pg"
import { generateSecrets } from "../src/runtime/vault/InstallationSecrets.js"
import { assertSound } from "../test/support/proofs.js"
import { startStub, start as startChild, type Stub } from "./support/Children.js"
import { median, ratios } from "./support/Ratios.js"
import { measureResumption } from "./support/Resumption.js"
import { awaitService, launch, makeDataDirectory, publish, type Service, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"
import { levels, measureAt, type Measurement, serviceTarget, type Target, warmUp } from "./support/Throughput.js"
import { threeCalls } from "./W2.js"
import { burst, makeWebhook, measureBurst, measureRate } from "./W3.js"

const rounds = Number(process.env["SVC_BENCH_ROUNDS"] ?? 5)
const levelNames = process.env["SVC_BENCH_LEVELS"]?.split(",") ?? ["1", "64"]
const measuredLevels = levels.filter((level) => levelNames.includes(String(level)))
const runnerCount = Number(process.env["SVC_BENCH_NODES"] ?? 2)
const enoughCores = 8

/** A form of the service: one process, nodes under a supervisor, or one node of a cluster. */
interface Form {
  readonly name: string
  readonly service: Service
}

const startNodes = () => startService({ command: ["start", "--nodes", String(runnerCount)] })

/**
 * One node with `--role all`, on the Postgres of a service that was killed: a node needs a Postgres that others could share.
 */
const startOneNode = async (): Promise<Service> => {
  const dataDir = makeDataDirectory()
  const host = await startService({ dataDir })
  const access: Readonly<Record<"owner" | "writer" | "app" | "auditReader", string>> = JSON.parse(
    readFileSync(join(dataDir, "postgres", "cluster", "access.json"), "utf8")
  )
  const [admin, workspaces] = [host.admin("postgres"), host.admin("nodes_ws")]
  host.child.kill("SIGKILL")
  await host.child.ended
  const client = new Client({ connectionString: admin })
  await client.connect()
  await client.query("CREATE DATABASE nodes OWNER svc_owner")
  await client.query("REVOKE ALL ON DATABASE nodes FROM PUBLIC")
  await client.query("GRANT CONNECT ON DATABASE nodes TO svc_writer, svc_app, svc_audit_reader")
  await client.end()
  const urlOf = (login: string, password: string) => {
    const url = new URL(admin)
    url.username = login
    url.password = password
    url.pathname = "/nodes"
    return url.href
  }
  const { keyPepper, masterKeys } = generateSecrets(new Date())
  const env = {
    SVC_DATABASE_URL_OWNER: urlOf("svc_owner", access.owner),
    SVC_DATABASE_URL_WRITER: urlOf("svc_writer", access.writer),
    SVC_DATABASE_URL_APP: urlOf("svc_app", access.app),
    SVC_DATABASE_URL_AUDIT: urlOf("svc_audit_reader", access.auditReader),
    SVC_WS_DATABASE_URL: workspaces,
    SVC_MASTER_KEYS: masterKeys,
    SVC_KEY_PEPPER: keyPepper,
    SVC_CLUSTER_SECRET: randomBytes(32).toString("hex"),
    SVC_DEFAULT_PLAN: "unlimited"
  }
  const bootstrap = startChild(["dist/svc.js", "bootstrap", "--organisation", "Bench"], {
    ...env,
    SVC_DATA_DIR: dataDir
  })
  const apiKey = /^(svk_live_\S+)$/m.exec(await bootstrap.printed(/^svk_live_\S+$/m))?.[1]
  await bootstrap.ended
  const child = launch({ dataDir, env, command: ["start", "--role", "all"] })
  return awaitService(child, dataDir, apiKey)
}

// --- Load ---

const perRun = ({ cpu }: Measurement): number => cpu.own + cpu.runners + cpu.postgres

/** Measures all forms in turns, the order of each round reversed, and adds a row for each figure. */
const inTurns = async <M>(
  forms: ReadonlyArray<Form>,
  measureForm: (form: Form) => Promise<M>
): Promise<ReadonlyArray<ReadonlyArray<M>>> => {
  const found = forms.map(() => new Array<M>())
  for (let round = 0; round < rounds; round++) {
    const order = [...forms.keys()]
    for (const at of round % 2 === 0 ? order : order.toReversed()) {
      const form = forms[at]
      if (form !== undefined) found[at]?.push(await measureForm(form))
    }
  }
  return found
}

const addRow = <M>(
  table: Table,
  names: ReadonlyArray<string>,
  found: ReadonlyArray<ReadonlyArray<M>>,
  of: (one: M) => number,
  digits: number
): void => {
  const [plain = []] = found
  table.add(
    ...names,
    ...found.map((all) => median(all.map(of)).toFixed(digits)),
    ...found.slice(1).map((all) => ratios(all, plain, of))
  )
}

const head = (forms: ReadonlyArray<Form>) => [
  ...forms.map(({ name }) => name),
  ...forms.slice(1).map(({ name }) => `${name} / plain`)
]

const measureInstant = async (forms: ReadonlyArray<Form>, title: string, source: string): Promise<void> => {
  const targets = new Map<Form, Target>()
  for (const form of forms) {
    const target = serviceTarget(form.service, form.name, await publish(form.service, title.toLowerCase(), source))
    targets.set(form, target)
    await warmUp(target)
  }
  const table = new Table("c", "", ...head(forms))
  for (const level of measuredLevels) {
    const found = await inTurns(forms, (form) => {
      const target = targets.get(form)
      if (target === undefined) throw new Error("no target")
      return measureAt(new Table(), target, level)
    })
    addRow(table, [String(level), "runs/s"], found, ({ perSecond }) => perSecond, 0)
    addRow(table, [String(level), "p50 ms"], found, ({ p50 }) => p50, 2)
    addRow(table, [String(level), "p99 ms"], found, ({ p99 }) => p99, 2)
    addRow(table, [String(level), "cpu ms/run"], found, perRun, 3)
    for (const part of ["own", "runners", "postgres"] as const)
      addRow(table, [String(level), `  ${part}`], found, ({ cpu }) => cpu[part], 3)
  }
  table.print(`${title} through ${runnerCount} runner nodes, ${rounds} rounds in turns, medians`)
}

const measureWebhooks = async (forms: ReadonlyArray<Form>, stub: Stub): Promise<void> => {
  const webhooks = new Map<Form, Awaited<ReturnType<typeof makeWebhook>>>()
  const webhookOf = (form: Form) => {
    const webhook = webhooks.get(form)
    if (webhook === undefined) throw new Error("no webhook")
    return webhook
  }
  for (const form of forms) {
    webhooks.set(form, await makeWebhook(form.service, stub))
    await measureBurst(form.service, webhookOf(form), stub, 2_000)
  }
  const table = new Table("", ...head(forms))
  const bursts = await inTurns(forms, (form) => measureBurst(form.service, webhookOf(form), stub, burst))
  addRow(table, ["acks/s"], bursts, ({ acks }) => acks, 0)
  addRow(table, ["runs/s"], bursts, ({ runs }) => runs, 0)
  addRow(table, ["cpu ms an event"], bursts, ({ cpu }) => cpu.reduce((sum, part) => sum + Number(part), 0), 2)
  const rates = await inTurns(forms, (form) => measureRate(webhookOf(form), stub, 50))
  addRow(table, ["50/s: p50 ms"], rates, ({ p50 }) => p50, 2)
  addRow(table, ["p99 ms"], rates, ({ p99 }) => p99, 2)
  table.print(`W3 through ${runnerCount} runner nodes: bursts of ${burst}, ${rounds} rounds in turns, medians`)
}

// --- Hand-over ---

interface Shown {
  readonly nodes: ReadonlyArray<{ readonly role: string; readonly state: string; readonly shards: number }>
  readonly shards: { readonly total: number }
}

const shown = async (service: Service) => (await service.call("GET", "/api/v1/cluster"))["data"] as Shown

/** Waits until so many runners that are alive hold all shards, each some: those of a silent one answer nobody. */
const awaitWhole = async (service: Service, runners: number): Promise<void> => {
  for (;;) {
    const { nodes, shards } = await shown(service)
    const holding = nodes.filter((node) => node.role === "runner" && node.state === "alive" && node.shards > 0)
    const held = holding.reduce((sum, node) => sum + node.shards, 0)
    if (held === shards.total && holding.length === runners) return
    await pause(20)
  }
}

/** The processes of the supervisor's nodes of this name, from their command lines. */
const runnerPids = (service: Service): ReadonlyArray<number> =>
  readFileSync(`/proc/${service.child.pid}/task/${service.child.pid}/children`, "utf8")
    .trim()
    .split(" ")
    .map(Number)
    .filter((pid) => /\brunner-\d/.test(readFileSync(`/proc/${pid}/environ`, "utf8")))

const measureHandOver = async (service: Service): Promise<void> => {
  const table = new Table("a runner", "shards answer again after ms: median", "most", "must")
  const signals = [
    ["is killed", "SIGKILL", 5_000],
    ["is frozen", "SIGSTOP", 12_000],
    ["is stopped", "SIGTERM", 1_500]
  ] as const
  for (const [name, signal, must] of signals) {
    const took: Array<number> = []
    for (let round = 0; round < 3; round++) {
      await awaitWhole(service, runnerCount)
      const [pid] = runnerPids(service)
      if (pid === undefined) throw new Error("there is no runner node")
      const at = performance.now()
      process.kill(pid, signal)
      // Until the others have noticed, it still counts.
      await awaitWhole(service, runnerCount - 1)
      took.push(performance.now() - at)
      if (signal === "SIGSTOP") process.kill(pid, "SIGCONT")
    }
    table.add(name, Math.round(median(took)), Math.round(Math.max(...took)), must)
  }
  await awaitWhole(service, runnerCount)
  table.print("Hand-over of shards")
}

// --- Start and idle ---

const measureStarts = async (stopped: ReadonlyArray<{ readonly name: string; readonly dataDir: string }>) => {
  const table = new Table("", "first reply ms", "all nodes ms", "idle MB without Postgres", "% of a core", "stop ms")
  for (const { dataDir, name } of stopped) {
    const isPlain = name === "plain"
    const replies: Array<number> = []
    const ready: Array<number> = []
    const stops: Array<number> = []
    const idle = { memory: 0, percent: 0 }
    for (let round = 0; round < 3; round++) {
      const at = performance.now()
      const command = isPlain ? ["start"] : ["start", "--nodes", String(runnerCount)]
      const service = await startService({ dataDir, command })
      await service.call("POST", `/api/v1/workflows/${service.dev.exampleWorkflowId}/execute`, {
        input: { name: "you" }
      })
      replies.push(performance.now() - at)
      if (!isPlain) await awaitWhole(service, runnerCount)
      ready.push(performance.now() - at)
      if (round === 2) {
        await pause(10_000)
        const before = service.usage()
        await pause(10_000)
        const { cpu, memory } = service.usage()
        idle.memory = memory.own + memory.runners
        idle.percent = (cpu.own + cpu.runners - before.cpu.own - before.cpu.runners) / 100
      }
      const end = performance.now()
      service.child.kill("SIGTERM")
      await service.child.ended
      stops.push(performance.now() - end)
    }
    const cells = [replies, ready].map((millis) => Math.round(median(millis)))
    table.add(name, ...cells, Math.round(idle.memory), idle.percent.toFixed(1), Math.round(median(stops)))
  }
  table.print("Starts on existing data, and idle services")
}

const bodyOf = async ({ headers, port }: Service, target: string) =>
  JSON.parse(await (await fetch(`http://127.0.0.1:${port}${target}`, { headers })).text())

export const nodes = async (): Promise<void> => {
  if (availableParallelism() < enoughCores)
    console.log(
      `This machine has ${availableParallelism()} cores: it cannot tell how much more work more nodes do. For that it needs ${enoughCores}.`
    )
  const stub = await startStub()
  const forms: ReadonlyArray<Form> = [
    { name: "plain", service: await startService() },
    { name: "one node", service: await startOneNode() },
    { name: `${runnerCount} runners`, service: await startNodes() }
  ]
  const parts = process.env["SVC_BENCH_PARTS"]?.split(",") ?? ["W1", "W2", "W3", "resumption", "hand-over", "starts"]
  if (parts.includes("W1")) await measureInstant(forms, "W1", "return { hello: ctx.input.name }")
  if (parts.includes("W2")) await measureInstant(forms, "W2", threeCalls(stub.url))
  if (parts.includes("W3")) await measureWebhooks(forms, stub)
  const [plain, one, several] = forms.map(({ service }) => service)
  if (plain === undefined || one === undefined || several === undefined) throw new Error("a form is missing")
  if (parts.includes("resumption"))
    await measureResumption(several, stub, {
      source: threeCalls(stub.url),
      kill: () => process.kill(runnerPids(several)[0] ?? Number.NaN, "SIGKILL"),
      whole: () => awaitWhole(several, runnerCount)
    })
  if (parts.includes("hand-over")) await measureHandOver(several)
  // Their logs tell of the nodes that were killed, and are no proof.
  for (const service of [one, several]) {
    await assertSound((target) => bodyOf(service, target))
    service.child.kill("SIGTERM")
    await service.child.ended
  }
  await plain.stop()
  await stub.stop()
  if (parts.includes("starts"))
    await measureStarts([
      { name: "plain", dataDir: plain.dataDir },
      { name: `${runnerCount} runners`, dataDir: several.dataDir }
    ])
}
