/** Measures how a tenant affects others: the latency of `/healthz`, and the runs of a neighbour. */
import { assert } from "@effect/vitest"

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
}

/** Runs `body` while it requests `/healthz` every 20 ms and starts runs of the neighbour without pause. */
export const runBesideNeighbour = async <A>(
  { baseUrl, runs: works }: Neighbour,
  body: () => Promise<A>
): Promise<{ readonly value: A; readonly probe: Probe }> => {
  const ended = new AbortController()
  const health: Array<number> = []
  const runs: Array<number> = []
  const timed = async (into: Array<number>, ask: () => Promise<void>, pause: number) => {
    while (!ended.signal.aborted) {
      const started = performance.now()
      await ask()
      into.push(performance.now() - started)
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
  const asked = async () => {
    const response = await fetch(`${baseUrl}/healthz`)
    assert.strictEqual(response.status, 200)
    await response.text()
  }
  const everyone = Promise.all([timed(health, asked, 20), ...works.map((work) => timed(runs, work, 5))])
  const early = everyone.then((): Promise<never> => Promise.reject(new Error("the neighbours ended before the attack")))
  const value = await Promise.race([body(), early]).finally(() => ended.abort())
  await everyone
  return { value, probe: { worst: Math.max(...health), runs: runs.length, p99: percentile(runs, 0.99) } }
}
