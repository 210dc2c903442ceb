/**
 * Places for work that waits for a partner outside: an endpoint, a provider, a mail server. Every user of the facility has
 * places of its own, and configures only how many. Three rules keep partners that hang from stopping the others: an
 * account gets another place only while more are free than twice what it holds; slow partners share three eighths of the
 * places, and so do the unknown ones of an account whose last unknown one was slow; and a quarter is kept for
 * partners that have answered. The shares also hold within an account, whose organisations take turns.
 */
import { type Clock, Context, Data, Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { FairQueue } from "../domain/share/FairQueue.js"
import { RecentMap } from "../domain/RecentMap.js"
import type { ShareOwner } from "../domain/share/ShareOwner.js"

/** How many places there are. `slowAfter`: a partner that takes longer is slow until it is quicker. */
export interface PlaceBounds {
  readonly perNode: number
  readonly perAccount: number
  readonly perPartner: number
  readonly slowAfter: Duration.Duration
}

/** Gives the place back; may be called more than once. */
export type ReleasePlace = () => void

/** There was no place in time, or too many wait for one. */
export class NoPlace extends Data.TaggedError("NoPlace")<{ readonly reason: "waited" | "crowded" }> {}

/** Who would get a place now; work of others is not worth finding. */
export interface Room {
  /** Accounts that get none. */
  readonly fullAccounts: ReadonlyArray<string>
  /** Partners that get none. */
  readonly closedPartners: ReadonlyArray<string>
  /** Accounts of which only answering partners get one, and whether that is so for all. */
  readonly reservedFor: ReadonlyArray<string>
  readonly isReserved: boolean
  /** Partners that have answered, of these accounts. */
  readonly answering: ReadonlyArray<string>
}

export interface Places {
  readonly limits: PlaceBounds
  /** Takes a place if there is one now. `partner`: unique in the node. */
  readonly tryTake: (owner: ShareOwner, partner: string) => ReleasePlace | undefined
  /** `undefined`: all places are taken. */
  readonly room: () => Room | undefined
  /** Runs `body` in a place; waits for one for up to ten seconds, accounts in turn. */
  readonly withPlace: <A, E, R>(
    owner: ShareOwner,
    partner: string,
    body: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | NoPlace, R>
  /** Waits until a place was given back since the last call. For one waiter. */
  readonly freed: Effect.Effect<void>
  /** Places in use, those of slow partners among them, and who waits. */
  readonly readings: () => { readonly held: number; readonly slow: number; readonly waiting: number }
}

/** What the partner's last answer tells; a partner without one is unknown, or slow if its account is unsteady. */
type Standing = "answering" | "slow" | "unknown"

interface HeldPlace {
  readonly account: string
  readonly partner: string
  readonly takenAt: number
}

interface Tally {
  all: number
  /** Of partners that are slow or unknown. */
  unproven: number
  slow: number
}

/** Partners that keep a place for too long, and their accounts. */
interface Hanging {
  readonly partners: Set<string>
  readonly accounts: Set<string>
}

interface Waiter {
  readonly partner: string
  readonly give: (release: ReleasePlace) => void
}

interface PlacesState {
  readonly limits: PlaceBounds
  readonly clock: Clock.Clock
  readonly held: Set<HeldPlace>
  /** The standing of partners by their last answer, the latest last. */
  readonly known: RecentMap<string, { readonly account: string; readonly isSlow: boolean }>
  /** Accounts whose last place of a partner that had not answered was slow. */
  readonly unsteady: RecentMap<string, true>
  readonly waiting: FairQueue<Waiter>
  readonly freed: Effect.Latch
}

/** Partners whose standing is remembered. */
const mostKnown = 10_000
const longestWait = Duration.seconds(10)
/** Pieces of work of one organisation that may wait, for each place of its account. */
const waitersPerPlace = 16

const none: Readonly<Tally> = { all: 0, unproven: 0, slow: 0 }

// --- Who may take a place ---

/** The standing of a partner without an answer. `hanging`: those that keep a place for too long. */
const newStanding = ({ unsteady }: PlacesState, account: string, hanging: Hanging): Standing =>
  unsteady.has(account) || hanging.accounts.has(account) ? "slow" : "unknown"

const standingOf = (state: PlacesState, account: string, partner: string, hanging: Hanging): Standing => {
  if (hanging.partners.has(partner)) return "slow"
  const found = state.known.get(partner)
  return found === undefined ? newStanding(state, account, hanging) : found.isSlow ? "slow" : "answering"
}

/** The places in use, of the node and by account. A partner that keeps one for too long counts as slow at once. */
const countHeld = (state: PlacesState) => {
  const now = state.clock.unsafeCurrentTimeMillis()
  const overdue = now - Duration.toMillis(state.limits.slowAfter)
  const node: Tally = { ...none }
  const accounts = new Map<string, Tally>()
  const partners = new Map<string, number>()
  const hanging: Hanging = { partners: new Set(), accounts: new Set() }
  for (const { account, partner, takenAt } of state.held) {
    if (takenAt <= overdue) {
      hanging.partners.add(partner)
      hanging.accounts.add(account)
    }
    partners.set(partner, (partners.get(partner) ?? 0) + 1)
  }
  for (const { account, partner } of state.held) {
    const own = accounts.get(account) ?? { ...none }
    accounts.set(account, own)
    const standing = standingOf(state, account, partner, hanging)
    for (const tally of [node, own]) {
      tally.all += 1
      if (standing !== "answering") tally.unproven += 1
      if (standing === "slow") tally.slow += 1
    }
  }
  return { accounts, node, partners, hanging }
}

/** Whether another place fits, where more must be free than twice what the account holds. */
const fits = (own: number, most: number, used: number, all: number): boolean => own < most && all - used > 2 * own

const mayTake = (
  { perNode, perAccount }: PlaceBounds,
  node: Readonly<Tally>,
  own: Readonly<Tally>,
  standing: Standing
): boolean => {
  const part = (of: number, share: number) => Math.max(1, Math.floor(of * share))
  if (!fits(own.all, perAccount, node.all, perNode)) return false
  if (standing === "answering") return true
  if (!fits(own.unproven, part(perAccount, 3 / 4), node.unproven, part(perNode, 3 / 4))) return false
  return standing === "unknown" || fits(own.slow, part(perAccount, 1 / 2), node.slow, part(perNode, 3 / 8))
}

const readRoom = (state: PlacesState): Room | undefined => {
  const { limits } = state
  const { hanging, accounts, node, partners } = countHeld(state)
  if (node.all >= limits.perNode) return undefined
  const may = (account: string, standing: Standing) => mayTake(limits, node, accounts.get(account) ?? none, standing)
  const holders = new Set([...accounts.keys(), ...state.unsteady.keys()])
  const reservedFor = [...holders].filter((one) => !may(one, newStanding(state, one, hanging)))
  const isReserved = !mayTake(limits, node, none, "unknown")
  const reserved = new Set(reservedFor)
  const closed = new Set([...partners].flatMap(([one, count]) => (count < limits.perPartner ? [] : [one])))
  const answering: Array<string> = []
  for (const [partner, { isSlow, account }] of state.known)
    if (isSlow || hanging.partners.has(partner)) {
      if (!may(account, "slow")) closed.add(partner)
    } else if (isReserved || reserved.has(account)) answering.push(partner)
  return {
    fullAccounts: [...holders].filter((one) => !may(one, "answering")),
    closedPartners: [...closed],
    reservedFor,
    isReserved,
    answering
  }
}

// --- Taking and giving back ---

/** Notes how long the partner took. */
const note = (state: PlacesState, { account, partner, takenAt }: HeldPlace): void => {
  const { clock, known, limits, unsteady } = state
  const isSlow = clock.unsafeCurrentTimeMillis() - takenAt >= Duration.toMillis(limits.slowAfter)
  if (known.get(partner)?.isSlow !== false) {
    unsteady.delete(account)
    if (isSlow) unsteady.set(account, true)
  }
  known.set(partner, { account, isSlow })
}

const tryTake = (state: PlacesState, account: string, partner: string): ReleasePlace | undefined => {
  const { hanging, accounts, node, partners } = countHeld(state)
  if ((partners.get(partner) ?? 0) >= state.limits.perPartner) return undefined
  const standing = standingOf(state, account, partner, hanging)
  if (!mayTake(state.limits, node, accounts.get(account) ?? none, standing)) return undefined
  const place: HeldPlace = { account, partner, takenAt: state.clock.unsafeCurrentTimeMillis() }
  state.held.add(place)
  return () => {
    if (!state.held.delete(place)) return
    note(state, place)
    serve(state)
    state.freed.unsafeOpen()
  }
}

/** Gives a place to the first who waits and may have one. */
const serveOne = (state: PlacesState): boolean => {
  let release: ReleasePlace | undefined
  const next = state.waiting.take((account, waiters) =>
    waiters.findIndex(({ partner }) => (release = tryTake(state, account, partner)) !== undefined)
  )
  if (next === undefined || release === undefined) return false
  next.give(release)
  return true
}

const serve = (state: PlacesState): void => {
  while (state.held.size < state.limits.perNode && serveOne(state));
}

/** Waits for a place. Run it uninterruptibly: only the wait can be interrupted, and then gives the place back. */
const take = Effect.fnUntraced(function* (state: PlacesState, owner: ShareOwner, partner: string) {
  const { limits, waiting } = state
  if (waiting.of(owner).length >= limits.perAccount * waitersPerPlace) return yield* new NoPlace({ reason: "crowded" })
  const found = yield* Deferred.make<ReleasePlace, NoPlace>()
  let taken: ReleasePlace | undefined
  const give = (release: ReleasePlace) => {
    taken = release
    Deferred.unsafeDone(found, Effect.succeed(release))
  }
  const waiter: Waiter = { partner, give }
  waiting.add(owner, waiter)
  serve(state)
  if (taken !== undefined) return taken
  const expire = Effect.sync(() => {
    if (waiting.remove(owner, waiter)) Deferred.unsafeDone(found, Effect.fail(new NoPlace({ reason: "waited" })))
  })
  const timer = yield* Effect.forkDaemon(Effect.interruptible(Effect.delay(expire, longestWait)))
  return yield* Effect.interruptible(Deferred.await(found)).pipe(
    Effect.onInterrupt(() =>
      Effect.sync(() => {
        waiting.remove(owner, waiter)
        taken?.()
      })
    ),
    Effect.ensuring(Fiber.interruptFork(timer))
  )
})

export const makePlaces = (limits: PlaceBounds): Effect.Effect<Places> =>
  Effect.map(Effect.clock, (clock) => {
    const freed = Effect.unsafeMakeLatch(false)
    const state: PlacesState = {
      limits,
      clock,
      held: new Set(),
      known: new RecentMap(mostKnown),
      unsteady: new RecentMap(mostKnown),
      waiting: new FairQueue(),
      freed
    }
    return {
      limits,
      tryTake: ({ account }, partner) => tryTake(state, account, partner),
      room: () => readRoom(state),
      withPlace: (owner, partner, body) =>
        Effect.acquireUseRelease(
          take(state, owner, partner),
          () => body,
          (release) => Effect.sync(release)
        ),
      freed: Effect.zipRight(freed.await, freed.close),
      readings: () => {
        const { node } = countHeld(state)
        return { held: node.all, slow: node.slow, waiting: state.waiting.size }
      }
    }
  })

/** The places of this node, by their use: each use has places of its own. */
export class OutwardPlaces extends Context.Tag("svc/OutwardPlaces")<OutwardPlaces, ReadonlyMap<string, Places>>() {}

/** The places of a use. One that the layer does not have is a defect. */
export const placesFor = (use: string): Effect.Effect<Places, never, OutwardPlaces> =>
  Effect.flatMap(OutwardPlaces, (all) => {
    const places = all.get(use)
    return places === undefined ? Effect.dieMessage(`there are no places for ${use}`) : Effect.succeed(places)
  })

export const layer = (uses: { readonly [use: string]: PlaceBounds }) =>
  Layer.effect(
    OutwardPlaces,
    Effect.map(
      Effect.forEach(Object.entries(uses), ([use, limits]) =>
        Effect.map(makePlaces(limits), (one) => [use, one] as const)
      ),
      (all) => new Map(all)
    )
  )
