/** Starts the child processes of a bench, and ends them with it. */
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { splitLines } from "../../src/runtime/process/Lines.js"
import { isTrouble, machineLines } from "../../test/support/LogLines.js"
import type { LoadOrder, LoadResult } from "../load.js"
import type { StubCounts } from "../stub.js"

const alive = new Set<ChildProcess>()
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL")
})
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130))

export interface Child {
  readonly pid: number
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<number | null>
  /**
   * Waits until the process has printed the text, and resolves with its whole output. Rejects if the process ends
   * before.
   */
  readonly printed: (text: string | RegExp) => Promise<string>
  /** Log lines above INFO that do not result from the machine. */
  readonly trouble: () => ReadonlyArray<string>
}

export const start = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}): Child => {
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"], ...env }
  })
  alive.add(child)
  let output = ""
  const trouble: Array<string> = []
  const lines = splitLines((text) => {
    if (isTrouble({ stream: "stdout", text }) && !machineLines.some((one) => one.test(text))) trouble.push(text)
  })
  const watchers = new Set<() => void>()
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text
    for (const check of watchers) check()
    lines.push(text)
  })
  const ended = new Promise<number | null>((resolve) =>
    child.once("close", (code) => {
      alive.delete(child)
      resolve(code)
    })
  )
  const printed = (text: string | RegExp) =>
    new Promise<string>((resolve, reject) => {
      const check = () => {
        if (typeof text === "string" ? !output.includes(text) : !text.test(output)) return
        watchers.delete(check)
        resolve(output)
      }
      watchers.add(check)
      check()
      void ended.then(() => reject(new Error(`ended before it printed ${String(text)}: ${output}`)))
    })
  return {
    pid: child.pid ?? 0,
    kill: (signal) => void child.kill(signal),
    ended,
    printed,
    trouble: () => trouble
  }
}

/** The bundle of another program of the benches. */
export const bundlePath = (name: string) => fileURLToPath(new URL(`./${name}.js`, import.meta.url))

const readPort = async (child: Child): Promise<number> =>
  Number(/listening (\d+)/.exec(await child.printed(/listening \d+\n/))?.[1])

export interface Server {
  readonly pid: number
  readonly port: number
  readonly stop: () => Promise<unknown>
}

const startServer = async (name: string, ...args: ReadonlyArray<string>): Promise<Server> => {
  const child = start([bundlePath(name), ...args])
  const stop = () => {
    child.kill("SIGKILL")
    return child.ended
  }
  return { pid: child.pid, port: await readPort(child), stop }
}

export const startFloor = (mode: "single" | "group" | "calls", databaseUrl: string, stub = ""): Promise<Server> =>
  startServer("floor", mode, databaseUrl, stub)

export interface Stub extends Server {
  readonly url: string
  readonly counts: () => Promise<StubCounts>
  readonly reset: () => Promise<unknown>
  readonly mark: () => Promise<unknown>
  readonly delays: () => Promise<ReadonlyArray<number>>
}

export const startStub = async (): Promise<Stub> => {
  const server = await startServer("stub")
  const url = `http://127.0.0.1:${server.port}`
  const get = async <A>(path: string): Promise<A> => JSON.parse(await (await fetch(`${url}${path}`)).text())
  return {
    ...server,
    url,
    counts: () => get<StubCounts>("/counts"),
    reset: () => get("/reset"),
    mark: () => get("/mark"),
    delays: () => get<ReadonlyArray<number>>("/delays")
  }
}

/** Puts load on a server. Calls `sample` at the beginning and at the end of the measured time. */
export const load = async <A>(
  order: LoadOrder,
  sample: () => A
): Promise<{ readonly result: LoadResult; readonly before: A; readonly after: A }> => {
  const child = start([bundlePath("load"), JSON.stringify(order)])
  await child.printed("measuring\n")
  const before = sample()
  await child.printed("measured\n")
  const after = sample()
  const output = await child.printed(/\{.*\}\n/)
  await child.ended
  const result: LoadResult = JSON.parse(output.slice(output.indexOf("{")))
  return { result, before, after }
}
