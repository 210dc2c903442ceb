/**
 * Calls that a cluster gets while its nodes are replaced, fifty a second: Instant runs, Standard runs of three calls, webhooks
 * through a balancer, and runs over the RPC client.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { RpcClient } from "../../../src/http/rpc/client/Package.js"
import type { Balancer } from "./Balancer.js"

/** Between two calls of a kind, in milliseconds. */
const pauses = { instant: 100, standard: 100, webhook: 50, rpc: 100 } as const

export type CallKind = keyof typeof pauses

interface Target {
  readonly balancer: Balancer
  readonly client: RpcClient
  /** The workflow of Instant runs, whose result is their `n`. */
  readonly instant: string
  /** The workflow of Standard runs. */
  readonly standard: string
  /** Of the runs over RPC, whose result is that of `standard`. */
  readonly isResult: (n: number, output: unknown) => boolean
  /** The path of a webhook. */
  readonly webhook: string
}

/** What one call took, in milliseconds, in the phase in which it was sent. */
export interface TimedCall {
  readonly kind: CallKind
  readonly phase: string
  readonly took: number
}

export interface UpgradeLoad {
  /** Names what calls are sent in from now on. */
  readonly enter: (phase: string) => void
  readonly stop: () => Promise<{
    /** Calls that were sent. */
    readonly sent: number
    /** What no node answered as it should. */
    readonly failures: ReadonlyArray<string>
    readonly timed: ReadonlyArray<TimedCall>
    readonly accepted: {
      readonly events: ReadonlyArray<string>
      /** `n` of each Standard run. */
      readonly runs: ReadonlyMap<string, number>
      /** `n` of each run over RPC. */
      readonly rpcRuns: ReadonlyMap<string, number>
    }
  }>
}

/** What fails a call; `undefined`: nothing. */
type Made = Promise<string | undefined>

const told = (kind: CallKind, n: number, answer: unknown) => `${kind} ${n}: ${JSON.stringify(answer)}`

/** Starts the load. Runs over RPC have numbers of their own, from 1,000,000 on. */
export const startUpgradeLoad = (target: Target): UpgradeLoad => {
  const { balancer, client, instant, isResult, standard, webhook } = target
  const stopping = new AbortController()
  const failures: Array<string> = []
  const timed: Array<TimedCall> = []
  const events: Array<string> = []
  const runs = new Map<string, number>()
  const rpcRuns = new Map<string, number>()
  let phase = ""
  let sent = 0

  const kinds: Readonly<Record<CallKind, (n: number) => Made>> = {
    instant: async (n) => {
      const answer = await balancer.post(`/api/v1/workflows/${instant}/execute`, { input: { n } })
      return answer.status === 200 && answer.body === n ? undefined : told("instant", n, answer)
    },
    standard: async (n) => {
      const answer = await balancer.post(`/api/v1/workflows/${standard}/execute`, { input: { n } })
      if (answer.status !== 202) return told("standard", n, answer)
      runs.set((answer.body as { executionId: string }).executionId, n)
      return undefined
    },
    webhook: async (n) => {
      const answer = await balancer.post(webhook, { n })
      if (answer.status !== 202) return told("webhook", n, answer)
      events.push((answer.body as { eventId: string }).eventId)
      return undefined
    },
    rpc: async (of) => {
      const n = 1_000_000 + of
      const ended = await client.executions.run({ workflowId: standard, input: { n } })
      rpcRuns.set(ended.executionId, n)
      return ended.status === "completed" && isResult(n, ended.output) ? undefined : told("rpc", n, ended)
    }
  }

  const open = new Set<Promise<void>>()
  const call = async (kind: CallKind, n: number) => {
    const from = { kind, phase }
    const began = performance.now()
    try {
      const failure = await kinds[kind](n)
      if (failure !== undefined) failures.push(failure)
      timed.push({ ...from, took: performance.now() - began })
    } catch (error) {
      failures.push(`${kind} ${n}: ${String(error)} ${String((error as Error).cause)}`)
    }
  }
  const repeat = async (kind: CallKind) => {
    for (let n = 0; !stopping.signal.aborted; n++) {
      sent++
      const one = call(kind, n).finally(() => open.delete(one))
      open.add(one)
      await sleep(pauses[kind])
    }
  }
  const loops = (Object.keys(pauses) as ReadonlyArray<CallKind>).map(repeat)

  return {
    enter: (next) => {
      phase = next
    },
    stop: async () => {
      stopping.abort()
      await Promise.all(loops)
      await Promise.all(open)
      return { sent, failures, timed, accepted: { events, runs, rpcRuns } }
    }
  }
}
