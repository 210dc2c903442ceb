/** Prints which functions of the main process allocate most in W2: V8's sampling of the heap, with what was collected. */
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { WebSocket } from "undici"
import { startStub } from "./support/Children.js"
import { awaitService, launch, makeDataDirectory, publish } from "./support/Service.js"
import { makeTable, measureAt, serviceTarget, warmUp } from "./support/Throughput.js"
import { threeCalls } from "./W2.js"
import { makeModuleFinder } from "./support/Profile.js"

interface Node {
  readonly callFrame: {
    readonly functionName: string
    readonly url: string
    readonly lineNumber: number
    readonly columnNumber: number
  }
  readonly selfSize: number
  readonly children: ReadonlyArray<Node>
}

const findFreePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

export const allocations = async (): Promise<void> => {
  const stub = await startStub()
  const dataDir = makeDataDirectory()
  const inspector = `127.0.0.1:${await findFreePort()}`
  const service = await awaitService(launch({ dataDir, node: [`--inspect=${inspector}`] }), dataDir)
  const target = serviceTarget(service, "svc", await publish(service, "allocations", threeCalls(stub.url)))
  await warmUp(target)
  const [page] = (await (await fetch(`http://${inspector}/json/list`)).json()) as ReadonlyArray<{
    webSocketDebuggerUrl: string
  }>
  const socket = new WebSocket(page?.webSocketDebuggerUrl ?? "")
  await new Promise((resolve) => socket.addEventListener("open", resolve))
  let last = 0
  const waiting = new Map<number, (value: { readonly profile: { readonly head: Node } }) => void>()
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data))
    waiting.get(id)?.(result)
  })
  const ask = (method: string, params = {}) =>
    new Promise<{ readonly profile: { readonly head: Node } }>((resolve) => {
      waiting.set((last += 1), resolve)
      socket.send(JSON.stringify({ id: last, method, params }))
    })
  await ask("HeapProfiler.startSampling", {
    samplingInterval: 16384,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true
  })
  const { count } = await measureAt(makeTable(), target, 64)
  const { profile } = await ask("HeapProfiler.stopSampling")
  socket.close()
  const moduleOf = makeModuleFinder()
  const own = new Map<string, number>()
  const inclusive = new Map<string, number>()
  let total = 0
  const visit = (node: Node, callers: ReadonlySet<string>): void => {
    const { columnNumber, functionName, lineNumber, url } = node.callFrame
    const module = moduleOf(url, lineNumber, columnNumber)
    const name = `${functionName || "(anonymous)"} ${module}:${lineNumber + 1}`
    total += node.selfSize
    own.set(name, (own.get(name) ?? 0) + node.selfSize)
    const next = new Set([...callers, name])
    for (const one of next) inclusive.set(one, (inclusive.get(one) ?? 0) + node.selfSize)
    for (const child of node.children) visit(child, next)
  }
  visit(profile.head, new Set())
  console.log(`${count} runs, ${(total / count / 1024).toFixed(1)} KB a run sampled`)
  for (const [title, sizes] of [
    ["own", own],
    ["with callees", inclusive]
  ] as const) {
    console.log(title)
    for (const [name, size] of [...sizes].toSorted((a, b) => b[1] - a[1]).slice(0, 70))
      console.log(`${(size / count / 1024).toFixed(2).padStart(8)} KB  ${name}`)
  }
  await service.stop()
  await stub.stop()
}
