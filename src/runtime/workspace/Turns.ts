/**
 * Shares the connections of `svc.db`: accounts are served round-robin, and so are the organisations of each. Each account
 * has its own bounds, and the more connections it holds, the more must be free before it gets another.
 */
import { Effect } from "effect"
import { FairQueue, type ChooseWaiter } from "../../domain/share/FairQueue.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"

export interface TurnLimits {
  /** Connections in use at once. */
  readonly connections: number
  readonly connectionsPerAccount: number
  /** How many of them transactions may use; the others are reserved for single statements. */
  readonly transactions: number
  readonly transactionsPerAccount: number
  /** Of each kind. */
  readonly waitingPerOrganisation: number
  readonly waitMillis: number
}

export type TurnKind = "statement" | "transaction"

export type NoTurn = "too many waiting" | "waited too long"

/** Returns the connection. Idempotent. */
export type ReleaseTurn = () => void

interface Waiter {
  readonly owner: ShareOwner
  readonly kind: TurnKind
  readonly begin: (release: ReleaseTurn) => void
}

/** Connections in use, by the node or one account, and how many of them transactions use. */
interface Used {
  connections: number
  transactions: number
}

/** Who holds connections, and who waits. */
interface TurnsState {
  readonly limits: TurnLimits
  readonly node: Used
  /** Accounts that hold connections. */
  readonly accounts: Map<string, Used>
  readonly waiting: FairQueue<Waiter>
}

const none: Readonly<Used> = { connections: 0, transactions: 0 }

/** Whether the account may have another connection. */
const canTake = ({ accounts, limits, node }: TurnsState, account: string, kind: TurnKind): boolean => {
  const own = accounts.get(account) ?? none
  return (
    own.connections < limits.connectionsPerAccount &&
    limits.connections - node.connections > 2 * own.connections &&
    (kind === "statement" ||
      (own.transactions < limits.transactionsPerAccount && node.transactions < limits.transactions))
  )
}

const take = (state: TurnsState, account: string, kind: TurnKind): ReleaseTurn => {
  const { accounts, node } = state
  const own = accounts.get(account) ?? { ...none }
  accounts.set(account, own)
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
    if (own.connections === 0) accounts.delete(account)
    serve(state)
  }
}

/** Serves the accounts in turn as long as one may have a connection; the transactions of an organisation before its statements. */
const serve = (state: TurnsState): void => {
  const pick: ChooseWaiter<Waiter> = (account, waiters) => {
    for (const kind of kinds) {
      const at = canTake(state, account, kind) ? waiters.findIndex((one) => one.kind === kind) : -1
      if (at >= 0) return at
    }
    return -1
  }
  for (let next = state.waiting.take(pick); next !== undefined; next = state.waiting.take(pick))
    next.begin(take(state, next.owner.account, next.kind))
}

export const makeTurns = (limits: TurnLimits) => {
  const state: TurnsState = { limits, node: { ...none }, accounts: new Map(), waiting: new FairQueue() }
  const { node, waiting } = state

  return {
    /** Waits for a connection, with a timeout. Fails at once if too many calls of the organisation wait. */
    acquire: (owner: ShareOwner, kind: TurnKind) =>
      Effect.async<ReleaseTurn, NoTurn>((resume) => {
        const waitingOfKind = waiting.of(owner).filter((one) => one.kind === kind).length
        if (waitingOfKind >= limits.waitingPerOrganisation) return resume(Effect.fail("too many waiting"))
        let taken: ReleaseTurn | undefined
        const waiter: Waiter = {
          owner,
          kind,
          begin: (release) => {
            clearTimeout(timer)
            taken = release
            resume(Effect.succeed(release))
          }
        }
        const leave = () => {
          clearTimeout(timer)
          waiting.remove(owner, waiter)
        }
        const timer = setTimeout(() => {
          leave()
          resume(Effect.fail("waited too long"))
        }, limits.waitMillis)
        waiting.add(owner, waiter)
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
