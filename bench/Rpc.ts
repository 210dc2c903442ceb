/**
 * The typed RPC: its calls against a bare server of the library over the same use case, its runs against those of REST, and
 * what watches cost that wait, and clients that do not read. Ratios of one run.
 */
import { Rpc, RpcGroup, RpcSerialization, RpcServer } from "@effect/rpc"
import { NodeSocketServer } from "@effect/platform-node"
import { SocketServer } from "@effect/platform"
import { Effect, Exit, Layer, Redacted, Schema, Scope } from "effect"
import { WebSocket } from "ws"
import { ExecutionHistory } from "../src/actors/management/run/ExecutionHistory.js"
import { ExecutionDetail } from "../src/domain/run/ExecutionView.js"
import { RefusalCounters } from "../src/http/auth/RefusalCounters.js"
import { defaultRules, make as makePipeline } from "../src/http/pipeline/Pipeline.js"
import { rpcPath } from "../src/http/rpc/RpcFront.js"
import { makeExample, makeFirstOrganisation } from "../src/runtime/program/FirstOrganisation.js"
import { server } from "../src/runtime/program/Server.js"
import { liveObjectBytes } from "../test/support/heap.js"
import { startInProcess } from "./support/InProcess.js"
import { makeDataDirectory, publish, type Service, startService } from "./support/Service.js"
import { median, ratios } from "./support/Ratios.js"
import { Table } from "./support/Table.js"
import { type Level, type Measurement, measureAt, serviceTarget, type Target, warmUp } from "./support/Throughput.js"

const rounds = Number(process.env["SVC_BENCH_ROUNDS"] ?? 5)
const must = { calls: 0.6, runs: 0.9, p50: 1.2, kilobytes: 20, idlePercent: 1, toldMillis: 50, unreadMegabytes: 150 }
const watches = 1_000
const watchesOfConnection = 100
const idleMillis = 15_000
const clients = 100

const verdict = (name: string, value: number, limit: number, isMost: boolean) =>
  `${name}: ${value.toFixed(2)}, must ${limit}: ${(isMost ? value <= limit : value >= limit) ? "reached" : "MISSED"}`

const messageOf = (tag: string, payload: unknown) =>
  JSON.stringify({ _tag: "Request", id: "1", tag, payload, headers: [] })

/** Measures two targets in turns. */
const inTurns = async (one: Target, other: Target, level: Level) => {
  const ones: Array<Measurement> = []
  const others: Array<Measurement> = []
  for (let round = 0; round < rounds; round++) {
    const order = [
      [ones, one],
      [others, other]
    ] as const
    for (const [all, target] of round % 2 === 0 ? order : order.toReversed())
      all.push(await measureAt(new Table(), target, level))
  }
  return { ones, others }
}

// --- Calls ---

const bareGroup = RpcGroup.make(
  Rpc.make("executions.get", { payload: { id: Schema.String }, success: ExecutionDetail, error: Schema.Unknown })
)

interface Made {
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
  readonly workflowId: string
}

/** The id of a run; waits until the service, which has just begun, runs one. */
const startedRun = async ({ headers, port, workflowId }: Made): Promise<string> => {
  for (let tries = 0; tries < 50; tries++) {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/workflows/${workflowId}/execute`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: '{"input":{"name":"you"}}'
    })
    const id = answer.headers.get("x-svc-execution-id")
    if (answer.ok && id !== null) return id
    await pause(200)
  }
  throw new Error("the service runs nothing")
}

const calls = async (table: Table): Promise<void> => {
  const { runtime } = await startInProcess(makeDataDirectory())
  const scope = Effect.runSync(Scope.make())
  const noUsage = { cpu: { own: 0, postgres: 0, runners: 0 }, memory: { own: 0, postgres: 0, runners: 0 } }
  const made = await runtime.runPromise(
    Effect.gen(function* () {
      const first = yield* makeFirstOrganisation("Bench", "unlimited")
      const example = yield* makeExample(first)
      const { port } = yield* server
      const pipeline = yield* Effect.provide(makePipeline, RefusalCounters.Default)
      const headers = { authorization: `Bearer ${Redacted.value(first.apiKey)}` }
      const head = { method: "GET", target: rpcPath, headers, remoteAddress: "127.0.0.1" }
      const found = yield* pipeline.recognise(defaultRules, head)
      if (!("caller" in found)) return yield* Effect.dieMessage("the key is not known")
      const history = yield* Effect.provide(ExecutionHistory, ExecutionHistory.Default)
      const handlers = bareGroup.toLayer({ "executions.get": ({ id }) => history.get({ ...found } as never, id) })
      const bare = yield* Layer.build(
        RpcServer.layer(bareGroup, { disableTracing: true }).pipe(
          Layer.provide(handlers),
          Layer.provide(RpcServer.layerProtocolSocketServer),
          Layer.provide(RpcSerialization.layerJson),
          Layer.provideMerge(NodeSocketServer.layerWebSocket({ port: 0, host: "127.0.0.1" }))
        )
      )
      const address = yield* Effect.map(SocketServer.SocketServer, ({ address: at }) => at).pipe(Effect.provide(bare))
      const barePort = address._tag === "TcpAddress" ? address.port : 0
      return { port, barePort, headers, workflowId: example.workflowId }
    }).pipe(Effect.provideService(Scope.Scope, scope))
  )
  const id = await startedRun(made)
  const message = messageOf("executions.get", { id })
  const target = (name: string, port: number, path: string): Target => ({
    name,
    port,
    path,
    message,
    headers: made.headers,
    usage: () => noUsage
  })
  const own = target("rpc", made.port, rpcPath)
  const bare = target("bare", made.barePort, "/")
  await warmUp(own)
  await warmUp(bare)
  const { ones, others } = await inTurns(own, bare, 64)
  const rate = ({ perSecond }: Measurement) => perSecond
  table.add(
    "executions.get c=64: per s, bare RpcServer",
    median(ones.map(rate)).toFixed(0),
    median(others.map(rate)).toFixed(0),
    ratios(ones, others, rate)
  )
  await sizeOfWatches({ port: made.port, headers: made.headers }, table)
  table.note(
    verdict("calls against a bare server", median(ones.map(rate)) / median(others.map(rate)), must.calls, false)
  )
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await runtime.dispose()
}

// --- Runs ---

const runs = async (service: Service, table: Table): Promise<void> => {
  const workflow = await publish(service, "trivial", "return { hello: ctx.input.name }")
  const rest = serviceTarget(service, "rest", workflow)
  const message = messageOf("executions.run", { workflowId: workflow, input: { name: "you" } })
  const own = { ...rest, name: "rpc", path: rpcPath, message }
  await warmUp(rest)
  await warmUp(own)
  for (const level of [64, 1] as const) {
    const { ones, others } = await inTurns(own, rest, level)
    const of = level === 64 ? ({ perSecond }: Measurement) => perSecond : ({ p50 }: Measurement) => p50
    table.add(
      `executions.run c=${level}: ${level === 64 ? "per s" : "p50 ms"}, REST`,
      median(ones.map(of)).toFixed(2),
      median(others.map(of)).toFixed(2),
      ratios(ones, others, of)
    )
    const ratio = median(ones.map(of)) / median(others.map(of))
    table.note(
      level === 64
        ? verdict("runs a second against REST", ratio, must.runs, false)
        : verdict("p50 against REST", ratio, must.p50, true)
    )
  }
}

// --- Watches ---

const connected = async ({ headers, port }: Pick<Service, "headers" | "port">): Promise<WebSocket> => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${rpcPath}`, { headers, perMessageDeflate: false })
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))
  return socket
}

/** Opens streams, which are acknowledged; `told` is called with each item. */
const watch = (socket: WebSocket, streams: number, told: (item: { readonly id?: string }) => void) => {
  socket.on("message", (data: Buffer) => {
    const { _tag, requestId, values = [] } = JSON.parse(data.toString())
    if (_tag !== "Chunk") return
    for (const item of values) told(item)
    socket.send(JSON.stringify({ _tag: "Ack", requestId }))
  })
  for (let n = 1; n <= streams; n++)
    socket.send(JSON.stringify({ _tag: "Request", id: String(n), tag: "executions.watch", payload: {}, headers: [] }))
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Opens the watches on as few connections as have them all. */
const openWatches = async (service: Pick<Service, "headers" | "port">): Promise<ReadonlyArray<WebSocket>> => {
  const open: Array<WebSocket> = []
  for (let n = 0; n < watches / watchesOfConnection; n++) {
    const socket = await connected(service)
    watch(socket, watchesOfConnection, () => undefined)
    open.push(socket)
  }
  await pause(3_000)
  return open
}

/** In this process, whose garbage can be collected: the clients, ten connections, count as well. */
const sizeOfWatches = async (service: Pick<Service, "headers" | "port">, table: Table): Promise<void> => {
  for (const one of await openWatches(service)) one.close()
  await pause(1_000)
  const before = liveObjectBytes()
  const open = await openWatches(service)
  const kilobytes = (liveObjectBytes() - before) / 1024 / watches
  for (const one of open) one.close()
  table.add(`${watches} idle watches: KB each`, kilobytes.toFixed(1), "", "")
  table.note(verdict("KB of an idle watch", kilobytes, must.kilobytes, true))
}

const idleWatches = async (service: Service, table: Table): Promise<void> => {
  const spent = async () => {
    const before = service.usage().cpu
    await pause(idleMillis)
    const { cpu } = service.usage()
    return (100 * (cpu.own + cpu.postgres + cpu.runners - before.own - before.postgres - before.runners)) / idleMillis
  }
  const alone: Array<number> = []
  const watched: Array<number> = []
  // In turns, since what Postgres does by itself differs more from time to time than watches cost.
  for (let round = 0; round < rounds; round++) {
    alone.push(await spent())
    const open = await openWatches(service)
    // Until what opening them left is collected.
    await pause(7_000)
    watched.push(await spent())
    for (const socket of open) socket.close()
    await pause(1_000)
  }
  const more = median(watched.map((percent, round) => percent - (alone[round] ?? Number.NaN)))
  table.add(
    `${watches} idle watches: % of a core`,
    median(watched).toFixed(2),
    median(alone).toFixed(2),
    more.toFixed(2)
  )
  table.note(verdict(`% of a core of ${watches} idle watches`, more, must.idlePercent, true))
}

const untilTold = async (service: Service, table: Table): Promise<void> => {
  const workflow = await publish(service, "told", "return 1")
  const socket = await connected(service)
  const waiting = new Map<string, () => void>()
  const seen = new Set<string>()
  watch(socket, 1, ({ id = "" }) => {
    seen.add(id)
    waiting.get(id)?.()
  })
  await pause(1_000)
  const times: Array<number> = []
  for (let n = 0; n < 40; n++) {
    const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1/workflows/${workflow}/execute`, {
      method: "POST",
      headers: service.headers,
      body: "{}"
    })
    const started = performance.now()
    const id = answer.headers.get("x-svc-execution-id") ?? ""
    if (!seen.has(id)) await new Promise<void>((resolve) => waiting.set(id, resolve))
    times.push(performance.now() - started)
    await pause(300)
  }
  socket.close()
  table.add("end of a run until a watcher is told: p50 ms", median(times).toFixed(1), "", "")
  table.note(verdict("ms until a watcher is told, p50", median(times), must.toldMillis, true))
}

/** The most memory beside clients that ask for lists and watches. */
const memoryBeside = async (service: Service, areRead: boolean): Promise<number> => {
  const open: Array<WebSocket> = []
  for (let n = 0; n < clients; n++) {
    const socket = await connected(service)
    // As many watches as a key may have, among all of them.
    watch(socket, watches / clients, () => undefined)
    if (!areRead) socket.pause()
    for (let call = 0; call < 90; call++)
      socket.send(
        JSON.stringify({
          _tag: "Request",
          id: String(10_000 + call),
          tag: "executions.list",
          payload: { page_size: 200 },
          headers: []
        })
      )
    open.push(socket)
  }
  let most = 0
  for (let n = 0; n < 40; n++) {
    await pause(500)
    most = Math.max(most, service.usage().memory.own)
  }
  for (const socket of open) socket.terminate()
  await pause(1_000)
  return most
}

const unreadAnswers = async (service: Service, table: Table): Promise<void> => {
  const read = await memoryBeside(service, true)
  const most = await memoryBeside(service, false)
  table.add(`${clients} clients that never read: MB`, most.toFixed(0), read.toFixed(0), (most - read).toFixed(0))
  table.note(verdict("MB more beside clients that never read", most - read, must.unreadMegabytes, true))
}

/** `SVC_BENCH_PARTS=runs,idle` measures these parts only. */
const parts = process.env["SVC_BENCH_PARTS"]?.split(",") ?? ["calls", "idle", "told", "runs", "unread"]

export const rpc = async (): Promise<void> => {
  const table = new Table("", "rpc", "other", "ratios")
  if (parts.includes("calls")) await calls(table)
  const service = await startService()
  if (parts.includes("idle")) await idleWatches(service, table)
  if (parts.includes("told")) await untilTold(service, table)
  if (parts.includes("runs")) await runs(service, table)
  if (parts.includes("unread")) await unreadAnswers(service, table)
  await service.stop()
  table.print("Typed RPC")
}
