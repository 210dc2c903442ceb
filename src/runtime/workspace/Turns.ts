/**
 * Shares the connections of `svc.db`: one queue per organisation, served round-robin. Each organisation has its own
 * bounds, and the more connections it holds, the more must be free before it gets another.
 */
import { Effect } from "effect"

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
export type Release = () => void

export interface Turns {
  /** Waits for a connection, with a timeout. Fails at once if too many calls of the organisation wait. */
  readonly acquire: (organisation: string, kind: TurnKind) => Effect.Effect<Release, NoTurn>
  readonly usage: () => { readonly inUse: number; readonly transactions: number; readonly waiting: number }
}

interface Place {
  readonly waiting: { readonly [kind in TurnKind]: Array<(release: Release) => void> }
  inUse: number
  transactions: number
}

/** Connections of the node in use, and how many of them transactions use. */
interface Used {
  connections: number
  transactions: number
}

/** Who holds connections, and who waits. */
interface TurnsState {
  readonly limits: TurnLimits
  /** Organisations that hold a connection or wait for one; the least recently served first. */
  readonly places: Map<string, Place>
  readonly used: Used
}

/** Whether the organisation may have another connection. */
const canTake = ({ limits, used }: TurnsState, place: Place, kind: TurnKind): boolean => {
  const free = limits.connections - used.connections
  return (
    place.inUse < limits.connectionsPerOrganisation &&
    free > 2 * place.inUse &&
    (kind === "statement" ||
      (place.transactions < limits.transactionsPerOrganisation && used.transactions < limits.transactions))
  )
}

const releaseOf = (state: TurnsState, organisation: string, place: Place, kind: TurnKind): Release => {
  let released = false
  return () => {
    if (released) return
    released = true
    state.used.connections -= 1
    place.inUse -= 1
    if (kind === "transaction") {
      state.used.transactions -= 1
      place.transactions -= 1
    }
    forget(state, organisation, place)
    serve(state)
  }
}

/** Drops an organisation that neither holds a connection nor waits. */
const forget = ({ places }: TurnsState, organisation: string, place: Place): void => {
  if (place.inUse === 0 && place.waiting.statement.length === 0 && place.waiting.transaction.length === 0)
    places.delete(organisation)
}

/** Serves the first organisation that may have a connection, and moves it to the end. */
const serveOne = (state: TurnsState): boolean => {
  for (const [organisation, place] of state.places) {
    for (const kind of kinds) {
      if (place.waiting[kind].length === 0 || !canTake(state, place, kind)) continue
      const next = place.waiting[kind].shift()
      if (next === undefined) continue
      state.used.connections += 1
      place.inUse += 1
      if (kind === "transaction") {
        state.used.transactions += 1
        place.transactions += 1
      }
      state.places.delete(organisation)
      state.places.set(organisation, place)
      next(releaseOf(state, organisation, place, kind))
      return true
    }
  }
  return false
}

const serve = (state: TurnsState): void => {
  while (serveOne(state));
}

export const makeTurns = (limits: TurnLimits): Turns => {
  const places = new Map<string, Place>()
  const used: Used = { connections: 0, transactions: 0 }

  const state: TurnsState = { limits, places, used }

  return {
    acquire: (organisation, kind) =>
      Effect.async<Release, NoTurn>((resume) => {
        const place = places.get(organisation) ?? newPlace()
        places.set(organisation, place)
        const queue = place.waiting[kind]
        if (queue.length >= limits.waitingPerOrganisation) return resume(Effect.fail("too many waiting"))
        let taken: Release | undefined
        const mine = (release: Release) => {
          clearTimeout(timer)
          taken = release
          resume(Effect.succeed(release))
        }
        const leave = () => {
          clearTimeout(timer)
          const at = queue.indexOf(mine)
          if (at < 0) return
          queue.splice(at, 1)
          forget(state, organisation, place)
        }
        const timer = setTimeout(() => {
          leave()
          resume(Effect.fail("waited too long"))
        }, limits.waitMillis)
        queue.push(mine)
        serve(state)
        return Effect.sync(() => {
          leave()
          taken?.()
        })
      }),
    usage: () => {
      let waiting = 0
      for (const place of places.values()) waiting += place.waiting.statement.length + place.waiting.transaction.length
      return { inUse: used.connections, transactions: used.transactions, waiting }
    }
  }
}

const newPlace = (): Place => ({ waiting: { statement: [], transaction: [] }, inUse: 0, transactions: 0 })

const kinds: ReadonlyArray<TurnKind> = ["transaction", "statement"]
