/**
 * What this node may have at once of an organisation's limit. A lone node counts by itself. In a cluster each node holds
 * places that the organisation's actor granted: it asks for more when it has none left, and gives back what it did not
 * need lately, so that the others can use all of the limit.
 */
import { Duration, Effect } from "effect"
import { Unavailable } from "../domain/Failure.js"
import type { OrganisationId } from "../domain/Ids.js"
import { isPlanFull } from "../domain/run/StartPolicy.js"
import { backgroundTask, repeatEvery } from "./BackgroundTask.js"
import type { PlaceKind, PlaceTaker } from "./ports/organisation/PlaceHoldings.js"
import { Ownership } from "./ports/Ownership.js"
import { OrganisationLimits } from "./organisation/Protocol.js"

export interface PlaceLeases {
  /** Whether one more may begin now. `most`: the organisation's limit; `null` for none. */
  readonly hasRoom: (organisation: OrganisationId, most: number | null) => boolean
  /**
   * Asks for places if there is no room. Ask `hasRoom` at once afterwards, since others may have been faster. Fails if
   * nobody can say whether there is room, as while this node has no seat.
   */
  readonly makeRoom: (organisation: OrganisationId, most: number | null) => Effect.Effect<void, Unavailable>
  /**
   * Runs `take`, which takes places itself and begins at once what it took; `null` for a lone node. `taken`: the
   * organisations of what was taken, one entry each.
   */
  readonly whileTaking: <A, E, R>(
    take: (taker: PlaceTaker | null) => Effect.Effect<A, E, R>,
    taken: (result: A) => ReadonlyArray<OrganisationId>
  ) => Effect.Effect<A, E, R>
}

interface Holding {
  places: number
  /** The most that were in use since the last look. */
  peak: number
  /** Looks in a row that found more places than were needed. */
  idleLooks: number
  most: number
  /** It may hold more than is known here, since an answer is missing or came too late. */
  isUncertain: boolean
  /** Until then no more are asked for, in Unix milliseconds. */
  emptyUntil: number
  /** One request at a time. */
  readonly asking: Effect.Semaphore
}

const lookInterval = Duration.millis(100)
/** How long a refusal counts. */
const emptyMillis = 100
const looksBeforeReturn = 2
const mostSpare = 16
const requestsAtOnce = 16
const requestTimeout = Duration.seconds(2)
/** How often a start asks again whose answer does not count. */
const mostRepeats = 10

const unknown = () =>
  new Unavailable({ reason: "what the organisation does at once cannot be counted now", retryAfterSeconds: 1 })

/** `inUse`: how many of each organisation's places are in use on this node. */
export const makePlaceLeases = (kind: PlaceKind, inUse: () => ReadonlyMap<OrganisationId, number>) =>
  Effect.gen(function* () {
    const owner = yield* OrganisationLimits.client
    const ownership = yield* Ownership
    const clock = yield* Effect.clock
    /** Closed while a statement takes places: what was asked for before it and is answered after it does not count. */
    const mayAsk = yield* Effect.makeLatch(true)
    const holdings = new Map<OrganisationId, Holding>()
    let knownSeat = ownership.seat()
    let turn = 0
    let lastTaken = 0
    let isTaking = false

    /** The seat of this node. A new one holds nothing. */
    const seatNow = () => {
      const seat = ownership.seat()
      if (seat !== knownSeat) {
        knownSeat = seat
        holdings.clear()
      }
      return seat
    }
    const usedBy = (organisation: OrganisationId) => inUse().get(organisation) ?? 0
    const holdingOf = (organisation: OrganisationId): Holding => {
      const known = holdings.get(organisation)
      if (known !== undefined) return known
      const asking = Effect.unsafeMakeSemaphore(1)
      const made: Holding = { places: 0, peak: 0, idleLooks: 0, most: 0, isUncertain: false, emptyUntil: 0, asking }
      holdings.set(organisation, made)
      return made
    }
    /** Places beyond those in use, so that not each start asks: a quarter of a node's share. */
    const spareOf = (most: number) => Math.min(mostSpare, Math.floor(most / (4 * ownership.nodes())))

    const hasRoom = (organisation: OrganisationId, most: number | null): boolean => {
      if (most === null) return true
      const used = usedBy(organisation)
      if (seatNow() === null) return !isPlanFull(used, most)
      const holding = holdings.get(organisation)
      if (holding === undefined || isTaking) return false
      holding.peak = Math.max(holding.peak, used + 1)
      return used < Math.min(holding.places, most)
    }

    /** Asks the organisation's actor for `wanted` places in all. Returns whether its answer counts. */
    const request = (organisation: OrganisationId, holding: Holding, seat: string, wanted: number) =>
      Effect.suspend(() => {
        // What is given back is not used from now on.
        holding.places = Math.min(holding.places, wanted)
        holding.isUncertain = true
        const used = usedBy(organisation)
        const asked = { kind, seat, turn: ++turn, used, wanted: Math.max(used, wanted), most: holding.most }
        return owner(organisation)
          .HoldPlaces(asked)
          .pipe(
            Effect.timeout(requestTimeout),
            // An actor on a dying node answers with a defect.
            Effect.sandbox,
            Effect.mapError(unknown),
            Effect.flatMap(({ held }) => {
              if (lastTaken > asked.turn) return Effect.succeed(false)
              if (held === null || ownership.seat() !== seat) return Effect.fail(unknown())
              holding.isUncertain = false
              holding.places = held
              // What gives places back asks for no more than it gets: that is no refusal.
              const isRefusal = held <= used && held < asked.wanted
              holding.emptyUntil = isRefusal ? clock.unsafeCurrentTimeMillis() + emptyMillis : 0
              return Effect.succeed(true)
            })
          )
      })

    /**
     * Runs `ask` when no other request of the organisation is under way, and no statement takes places; again after a
     * statement that began meanwhile, whose answer does not count.
     */
    const inTurn = (holding: Holding, ask: () => Effect.Effect<boolean, Unavailable>) =>
      Effect.zipRight(mayAsk.await, Effect.suspend(ask)).pipe(
        Effect.filterOrFail(
          (counts) => counts,
          () => "asked too early" as const
        ),
        Effect.retry({ times: mostRepeats, while: (failure) => failure === "asked too early" }),
        Effect.mapError((failure) => (failure === "asked too early" ? unknown() : failure)),
        Effect.asVoid,
        holding.asking.withPermits(1)
      )

    const makeRoom = (organisation: OrganisationId, most: number | null): Effect.Effect<void, Unavailable> =>
      Effect.suspend(() => {
        if (most === null || seatNow() === null || hasRoom(organisation, most)) return Effect.void
        const holding = holdingOf(organisation)
        /** Whether the holding was removed while this start waited: places that it got now would not be found. */
        const isGone = () => holdings.get(organisation) !== holding
        const ask = inTurn(holding, () => {
          const seat = seatNow()
          const isFull = holding.emptyUntil > clock.unsafeCurrentTimeMillis()
          const used = usedBy(organisation)
          if (seat === null || isGone() || isFull || used >= most || hasRoom(organisation, most))
            return Effect.succeed(true)
          holding.most = most
          return request(organisation, holding, seat, Math.min(most, used + 1 + spareOf(most)))
        })
        return Effect.zipRight(
          ask,
          Effect.suspend(() => (isGone() ? makeRoom(organisation, most) : Effect.void))
        )
      })

    const whileTaking: PlaceLeases["whileTaking"] = (take, taken) =>
      Effect.suspend(() => {
        const seat = seatNow()
        if (seat === null) return take(null)
        isTaking = true
        lastTaken = ++turn
        mayAsk.unsafeClose()
        const before = new Map(inUse())
        // The statement counts what is in use: places that are free would be granted twice.
        for (const [organisation, holding] of holdings)
          holding.places = Math.min(holding.places, before.get(organisation) ?? 0)
        return take({ seat, turn: lastTaken }).pipe(
          Effect.tap((result) =>
            Effect.sync(() => {
              if (ownership.seat() !== seat) return
              for (const organisation of taken(result)) {
                const total = (before.get(organisation) ?? 0) + 1
                before.set(organisation, total)
                const holding = holdingOf(organisation)
                holding.places = Math.max(holding.places, total)
                holding.peak = Math.max(holding.peak, total)
              }
            })
          ),
          Effect.ensuring(
            Effect.sync(() => {
              isTaking = false
              mayAsk.unsafeOpen()
            })
          )
        )
      })

    /** Holds what runs on this node anyhow, and gives back what was not needed lately. */
    const adjust = (organisation: OrganisationId, holding: Holding, seat: string) =>
      Effect.suspend(() => {
        const used = usedBy(organisation)
        const needed = Math.max(used, holding.peak)
        holding.peak = used
        const kept = needed === 0 ? 0 : needed + spareOf(holding.most)
        if (used > holding.places) return request(organisation, holding, seat, used)
        holding.idleLooks = holding.places > kept || holding.isUncertain ? holding.idleLooks + 1 : 0
        if (holding.idleLooks >= looksBeforeReturn) {
          holding.idleLooks = 0
          return request(organisation, holding, seat, kept)
        }
        if (used === 0 && holding.places === 0 && !holding.isUncertain) holdings.delete(organisation)
        return Effect.succeed(true)
      })

    const look = Effect.suspend(() => {
      const seat = seatNow()
      if (seat === null) return Effect.void
      return Effect.forEach(
        new Set([...holdings.keys(), ...inUse().keys()]),
        (organisation) => {
          const holding = holdingOf(organisation)
          // An owner that cannot be asked now, as while its shard moves, is asked at the next look.
          return Effect.ignore(inTurn(holding, () => adjust(organisation, holding, seat)))
        },
        { concurrency: requestsAtOnce, discard: true }
      )
    })
    if (knownSeat !== null) yield* repeatEvery(lookInterval, (yield* backgroundTask(`places.${kind}`, look)).run)

    return { hasRoom, makeRoom, whileTaking }
  })
