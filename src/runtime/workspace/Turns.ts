/**
 * Shares the connections of `svc.db`: one queue per organisation, served round-robin. Each organisation has its own
 * bounds, and the more connections it holds, the more must be free before it gets another.
 */
import { Effect } from "effect"
import { FairQueue, type ChooseWaiter } from "../../domain/FairQueue.js"

export interface TurnLimits {
  /** Connections in use at once. */
  readonly connections: number
  readonly connectionsPerOrganisation: number
  /** How many of them transactions may use; the others are reserved for single statements. */
  readonly transactions: number
  readonly transactionsPerOrganisation: number
  /** Of each kind. */
  readonly waitingPerOrganisation: number
  readonly waitMillis: number
}

export type TurnKind = "statement" | "transaction"

export type NoTurn = "too many waiting" | "waited too long"

/** Returns the connection. Idempotent. */
export type ReleaseTurn = () => void

interface Waiter {
  readonly organisation: string
  readonly kind: TurnKind
  readonly begin: (release: ReleaseTurn) => void
}

/** Connections in use, by the node or one organisation, and how many of them transactions use. */
interface Used {
  connections: number
  transactions: number
}

/** Who holds connections, and who waits. */
interface TurnsState {
  readonly limits: TurnLimits
  readonly node: Used
  /** Organisations that hold connections. */
  readonly organisations: Map<string, Used>
  readonly waiting: FairQueue<string, Waiter>
}

const none: Readonly<Used> = { connections: 0, transactions: 0 }

/** Whether the organisation may have another connection. */
const canTake = ({ limits, node, organisations }: TurnsState, organisation: string, kind: TurnKind): boolean => {
  const own = organisations.get(organisation) ?? none
  return (
    own.connections < limits.connectionsPerOrganisation &&
    limits.connections - node.connections > 2 * own.connections &&
    (kind === "statement" ||
      (own.transactions < limits.transactionsPerOrganisation && node.transactions < limits.transactions))
  )
}

const take = (state: TurnsState, organisation: string, kind: TurnKind): ReleaseTurn => {
  const { node, organisations } = state
  const own = organisations.get(organisation) ?? { ...none }
  organisations.set(organisation, own)
  const count = (by: 1 | -1) => {
    for (const used of [node, own]) {
      used.connections += by
      if (kind === "transaction") used.transactions += by
    }
  }
  count(1)
  let released = false
  return () => {
    if (released) return
    released = true
    count(-1)
    if (own.connections === 0) organisations.delete(organisation)
    serve(state)
  }
}

/** Serves the organisations in turn as long as one may have a connection; its transactions before its statements. */
const serve = (state: TurnsState): void => {
  const pick: ChooseWaiter<string, Waiter> = (organisation, waiters) => {
    for (const kind of kinds) {
      const at = canTake(state, organisation, kind) ? waiters.findIndex((one) => one.kind === kind) : -1
      if (at >= 0) return at
    }
    return -1
  }
  for (let next = state.waiting.take(pick); next !== undefined; next = state.waiting.take(pick))
    next.begin(take(state, next.organisation, next.kind))
}

export const makeTurns = (limits: TurnLimits) => {
  const state: TurnsState = { limits, node: { ...none }, organisations: new Map(), waiting: new FairQueue() }
  const { node, waiting } = state

  return {
    /** Waits for a connection, with a timeout. Fails at once if too many calls of the organisation wait. */
    acquire: (organisation: string, kind: TurnKind) =>
      Effect.async<ReleaseTurn, NoTurn>((resume) => {
        const waitingOfKind = waiting.of(organisation).filter((one) => one.kind === kind).length
        if (waitingOfKind >= limits.waitingPerOrganisation) return resume(Effect.fail("too many waiting"))
        let taken: ReleaseTurn | undefined
        const waiter: Waiter = {
          organisation,
          kind,
          begin: (release) => {
            clearTimeout(timer)
            taken = release
            resume(Effect.succeed(release))
          }
        }
        const leave = () => {
          clearTimeout(timer)
          waiting.remove(organisation, waiter)
        }
        const timer = setTimeout(() => {
          leave()
          resume(Effect.fail("waited too long"))
        }, limits.waitMillis)
        waiting.add(organisation, waiter)
        serve(state)
        return Effect.sync(() => {
          leave()
          taken?.()
        })
      }),
    usage: () => ({ inUse: node.connections, transactions: node.transactions, waiting: waiting.size })
  }
}

const kinds: ReadonlyArray<TurnKind> = ["transaction", "statement"]
