/** The processes of a bench, ended with it. */
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { isTrouble, lineReader, ofThisMachine } from "../../test/support/LogLines.js"
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
  /** Resolves when it has printed the text, with all that it has printed; rejects when it ends before. */
  readonly printed: (text: string | RegExp) => Promise<string>
  /** Log lines above INFO. */
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
  const lines = lineReader((text) => {
    if (isTrouble({ stream: "stdout", text }) && !ofThisMachine.some((one) => one.test(text))) trouble.push(text)
  })
  const looks = new Set<() => void>()
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text
    for (const look of looks) look()
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
      const look = () => {
        if (typeof text === "string" ? !output.includes(text) : !text.test(output)) return
        looks.delete(look)
        resolve(output)
      }
      looks.add(look)
      look()
      void ended.then(() => reject(new Error(`ended before it printed ${String(text)}: ${output}`)))
    })
  return { pid: child.pid ?? 0, kill: (signal) => void child.kill(signal), ended, printed, trouble: () => trouble }
}

/** The bundle of a sibling of the main program. */
const bundle = (name: string) => fileURLToPath(new URL(`./${name}.js`, import.meta.url))

const listening = async (child: Child): Promise<number> =>
  Number(/listening (\d+)/.exec(await child.printed(/listening \d+\n/))?.[1])

export interface Server {
  readonly pid: number
  readonly port: number
  readonly stop: () => Promise<unknown>
}

const server = async (name: string, ...args: ReadonlyArray<string>): Promise<Server> => {
  const child = start([bundle(name), ...args])
  const stop = () => {
    child.kill("SIGKILL")
    return child.ended
  }
  return { pid: child.pid, port: await listening(child), stop }
}

export const floor = (mode: "single" | "group" | "calls", databaseUrl: string, stub = ""): Promise<Server> =>
  server("floor", mode, databaseUrl, stub)

export interface Stub extends Server {
  readonly url: string
  readonly counts: () => Promise<StubCounts>
  readonly reset: () => Promise<unknown>
  readonly mark: () => Promise<unknown>
}

export const startStub = async (): Promise<Stub> => {
  const found = await server("stub")
  const url = `http://127.0.0.1:${found.port}`
  const get = async <A>(path: string): Promise<A> => JSON.parse(await (await fetch(`${url}${path}`)).text())
  return {
    ...found,
    url,
    counts: () => get<StubCounts>("/counts"),
    reset: () => get("/reset"),
    mark: () => get("/mark")
  }
}

/** Puts load on a server; `sample` is called as the measured time begins and ends. */
export const load = async <A>(
  order: LoadOrder,
  sample: () => A
): Promise<{ readonly result: LoadResult; readonly before: A; readonly after: A }> => {
  const child = start([bundle("load"), JSON.stringify(order)])
  await child.printed("measuring\n")
  const before = sample()
  await child.printed("measured\n")
  const after = sample()
  const output = await child.printed(/\{.*\}\n/)
  await child.ended
  const result: LoadResult = JSON.parse(output.slice(output.indexOf("{")))
  return { result, before, after }
}
