/** What the parts of a trial share: its nodes, its verdict, and requests to whichever `api` node is there. */
import { setTimeout as pause } from "node:timers/promises"
import type { Answer } from "../api.js"
import type { TrialNode } from "./Nodes.js"
import { type PromiseName, makeVerdict, type Verdict } from "./Verdict.js"

/** Requests have to be answered within this time, but for that in which their node was frozen. */
const answerMillis = 30_000
/** What a busy machine may add. */
const allowanceMillis = 5_000
/** A request that was sent so long before its node was asked to stop has been accepted. */
const acceptMillis = 300
/** A node that stops answers what it can in this time, and gives up the rest. */
const graceMillis = 24_000
/** A request without an answer is given up after this time. */
const patienceMillis = 90_000

/** Whether `took` is beyond `millis`, in milliseconds: the suite bounds no time, `npm run measure` and `npm run chaos` do. */
export type IsLate = (took: number, millis: number) => boolean

export interface Trial extends Verdict {
  readonly nodes: Array<TrialNode>
  readonly say: (line: string) => void
  /** Unix milliseconds. */
  readonly begunAt: number
  /** What was done to runners that may end a request of theirs in the middle: deaths, freezes, lost paths to Postgres. */
  readonly deaths: Array<{ readonly what: string; readonly from: number; until: number }>
  /** When shards, and the owners of connections, may have moved. */
  readonly changes: Array<{ readonly from: number; until: number }>
  /** Whether something took too long, by a bound on a machine at rest. */
  readonly isLate: IsLate
  /** The load goes on until this is set. */
  isOver: boolean
  /** Sends a request once, to an `api` node. `undefined`: there is none, or the connection broke. */
  readonly ask: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
    at?: TrialNode
  ) => Promise<Answer | undefined>
  /** Sends it again and again until the answer is accepted; `undefined` when that took too long, which is a violation. */
  readonly insist: (
    what: string,
    send: () => Promise<Answer | undefined>,
    isAccepted: (answer: Answer) => boolean
  ) => Promise<Answer | undefined>
  /** Does something again and again, so often in a second, until the load ends; waits for all of it. */
  readonly repeat: (perSecond: number, act: (n: number) => Promise<void>) => Promise<void>
}

/** How long the node was frozen between two times. */
const frozenMillis = ({ frozen }: TrialNode, from: number, until: number): number =>
  frozen.reduce((sum, one) => sum + Math.max(0, Math.min(until, one.until) - Math.max(from, one.from)), 0)

const isGivenUp = ({ stoppedAt }: TrialNode): boolean => stoppedAt !== undefined && Date.now() - stoppedAt > graceMillis

/** How long an item of the load is repeated: over all faults, and what follows. */
const insistMillis = 120_000

export const makeTrial = (say: (line: string) => void, isLate: IsLate = () => false): Trial => {
  const verdict = makeVerdict((line) => say(`VIOLATED ${line}`))
  const nodes: Array<TrialNode> = []
  const violatedAnswer = (what: string) => verdict.violated("answers" satisfies PromiseName, what)
  let turn = 0

  const ask: Trial["ask"] = async (method, path, body, headers = {}, at) => {
    const present = nodes.filter(({ isGone, role }) => role === "api" && !isGone)
    const one = at ?? present[(turn += 1) % present.length]
    if (one === undefined) return undefined
    const from = Date.now()
    const what = `${method} ${path} at ${one.name}`
    try {
      const response = await fetch(`${one.node.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${one.node.client.dev.apiKey}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(patienceMillis)
      })
      const text = await response.text()
      const answer: Answer = { status: response.status, body: parsed(text), headers: response.headers }
      verdict.tried("answers")
      const took = Date.now() - from - frozenMillis(one, from, Date.now())
      const longest = answerMillis + allowanceMillis
      if (isLate(took, longest)) violatedAnswer(`${what}: ${response.status} after ${took} ms`)
      if (response.status === 500) violatedAnswer(`${what}: 500 ${text}`)
      // The answer of a provider is passed on as it is.
      const isOwn = !path.startsWith("/api/v1/proxy/")
      if (isOwn && response.status >= 400 && typeof answer.body?.code !== "string") violatedAnswer(`${what}: ${text}`)
      return answer
    } catch (error) {
      if (Date.now() - from >= patienceMillis) violatedAnswer(`${what}: no answer`)
      else if (!one.isGone || (from < (one.stoppedAt ?? 0) - acceptMillis && !isGivenUp(one)))
        violatedAnswer(`${what}: ${String(error)} ${String(causeOf(error))}`)
      return undefined
    }
  }

  const trial: Trial = {
    ...verdict,
    nodes,
    say,
    begunAt: Date.now(),
    deaths: [],
    changes: [],
    isLate,
    isOver: false,
    ask,
    insist: async (what, send, isAccepted) => {
      const from = Date.now()
      let last: Answer | undefined
      for (let tries = 1; Date.now() - from < insistMillis; tries++) {
        const answer = await send()
        if (answer !== undefined && isAccepted(answer)) return answer
        last = answer ?? last
        await pause(Math.min(50 * tries, 500))
      }
      violatedAnswer(
        `${what} was not accepted in ${insistMillis} ms; the last answer is ${last?.status} ${JSON.stringify(last?.body)}`
      )
      return undefined
    },
    repeat: async (perSecond, act) => {
      const acts: Array<Promise<void>> = []
      for (let n = 0; !trial.isOver; n++) {
        acts.push(act(n))
        await pause(1_000 / perSecond)
      }
      await Promise.all(acts)
    }
  }
  return trial
}

const causeOf = (error: unknown): unknown => (error instanceof Error ? (error.cause ?? "") : "")

const parsed = (text: string): Answer["body"] => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
