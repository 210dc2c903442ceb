/** Measures how a tenant affects others: the latency of `/healthz`, and the runs of a neighbour. */
import { assert } from "@effect/vitest"
import { Worker } from "node:worker_threads"

export interface Answer {
  readonly status: number
  // Each test asserts the members that it expects.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}
export type Client = (method: string, path: string, body?: unknown) => Promise<Answer>

export const clientOf =
  (baseUrl: () => string, key: string): Client =>
  async (method, target, body) => {
    const response = await fetch(`${baseUrl()}${target}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, body: text === "" ? null : JSON.parse(text) }
  }

export interface Attacker {
  readonly send: Client
  readonly stop: () => Promise<unknown>
}

/**
 * A client in a thread of its own. It parses a body when it is read: an attack of many megabytes would otherwise stop
 * the probe, which shares this thread.
 */
export const attackerOf = (baseUrl: () => string, key: string): Attacker => {
  const worker = new Worker(new URL("./attackerThread.mjs", import.meta.url))
  const waiting = new Map<number, (answer: Answer) => void>()
  let orders = 0
  worker.on("message", ({ id, status, text }: { id: number; status: number; text: string }) => {
    waiting.get(id)?.({
      status,
      get body() {
        return text === "" ? null : JSON.parse(text)
      }
    })
    waiting.delete(id)
  })
  return {
    send: (method, path, body) =>
      new Promise((resolve) => {
        const id = (orders += 1)
        waiting.set(id, resolve)
        const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body)
        worker.postMessage({ id, url: `${baseUrl()}${path}`, method, key, body: text }, [])
      }),
    stop: () => worker.terminate()
  }
}

export interface Probe {
  /** Milliseconds: the slowest answer of `/healthz`, and the 99th percentile of the neighbour's runs. */
  readonly worst: number
  readonly runs: number
  readonly p99: number
}

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0

interface Neighbour {
  readonly baseUrl: string
  /** Functions that run a workflow of the neighbour, each in a loop, and reject if the run does not succeed. */
  readonly runs: ReadonlyArray<() => Promise<void>>
  /** Between two runs of a function. */
  readonly pauseMillis: number
}

/**
 * Runs `body` while it requests `/healthz` every 20 ms and starts runs of the neighbour. `body` is given
 * a function that counts the neighbour's runs so far.
 */
export const runBesideNeighbour = async <A>(
  { baseUrl, pauseMillis, runs: works }: Neighbour,
  body: (count: () => number) => Promise<A>
): Promise<{ readonly value: A; readonly probe: Probe }> => {
  const ended = new AbortController()
  const health: Array<number> = []
  const runs: Array<number> = []
  const timed = async (into: Array<number>, ask: () => Promise<void>, pause: number) => {
    while (!ended.signal.aborted) {
      const started = Date.now()
      await ask()
      into.push(Date.now() - started)
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
  const asked = async () => {
    const response = await fetch(`${baseUrl}/healthz`)
    assert.strictEqual(response.status, 200)
    await response.text()
  }
  const everyone = Promise.all([timed(health, asked, 20), ...works.map((work) => timed(runs, work, pauseMillis))])
  const early = everyone.then((): Promise<never> => Promise.reject(new Error("the neighbours ended before the attack")))
  const value = await Promise.race([body(() => runs.length), early]).finally(() => ended.abort())
  await everyone
  return { value, probe: { worst: Math.max(...health), runs: runs.length, p99: percentile(runs, 0.99) } }
}
