/**
 * The ledger of bytes that came from outside and are in memory: request bodies, answers of providers and databases,
 * journals that are replayed, arguments and results that wait. Whoever holds such bytes takes them here first, so that
 * no tenant can fill the node's memory. Contract: limits left open.
 */
import { Context, Data, Effect } from "effect"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"

/** What the bytes are; each kind has its share of the ledger. */
export type HeldKind = "arriving" | "bodies" | "answers" | "results" | "journals"

/**
 * The node has no room for these bytes. `busy`: others hold it now, so the same request may succeed later. `tooLarge`:
 * one account never gets so much.
 */
export class BytesRefused extends Data.TaggedError("BytesRefused")<{
  readonly reason: "busy" | "tooLarge"
  readonly bytes: number
}> {}

/** The bytes of one piece of work, which gives them back all together. */
export interface Holding {
  /** Bytes held now. */
  readonly bytes: number
  /** Takes bytes if there is room now, and says whether it did. */
  readonly tryTake: (bytes: number) => boolean
  /**
   * Takes bytes, and calls `done` once: with nothing as soon as they are taken, or with the refusal when there was no
   * room for five seconds. Returns a function that stops waiting, after which `done` is not called.
   */
  readonly take: (bytes: number, done: (refused: BytesRefused | undefined) => void) => () => void
  /** Gives part of the bytes back. */
  readonly give: (bytes: number) => void
  /** Gives everything back. Waits end, and what is taken later is not counted. May be called more than once. */
  readonly release: () => void
}

/** Bytes by kind, those who wait for some, and refusals since the start. */
export interface LedgerReadings {
  readonly capacity: number
  readonly held: Readonly<Record<HeldKind, number>>
  readonly waiting: number
  readonly refused: number
}

export class HeldBytes extends Context.Tag("svc/HeldBytes")<
  HeldBytes,
  {
    /** Costs nothing until it takes. */
    readonly open: (owner: ShareOwner, kind: HeldKind) => Holding
    readonly readings: () => LedgerReadings
  }
>() {}

/**
 * What the answers to a piece of work are counted in, from their first byte until they are used. Whoever asks a provider
 * or a database provides it, so that no way to ask can forget it.
 *
 * @effect-leakable-service
 */
export class AnswerHolding extends Context.Tag("svc/AnswerHolding")<AnswerHolding, Holding>() {}

/** Runs `body` with a holding for the answers that it gets, which is released when it ends. */
export const holdAnswers = <A, E, R>(ledger: HeldBytes["Type"], owner: ShareOwner, body: Effect.Effect<A, E, R>) =>
  withHolding(ledger, owner, "answers", (holding) => Effect.provideService(body, AnswerHolding, holding))

/** Takes bytes; waits for room for five seconds. */
export const takeBytes = (holding: Holding, bytes: number): Effect.Effect<void, BytesRefused> =>
  Effect.suspend(() =>
    holding.tryTake(bytes)
      ? Effect.void
      : Effect.async((resume) => {
          const stop = holding.take(bytes, (refused) =>
            resume(refused === undefined ? Effect.void : Effect.fail(refused))
          )
          return Effect.sync(stop)
        })
  )

/** Runs `body` with a holding that is released when it ends. */
export const withHolding = <A, E, R>(
  ledger: HeldBytes["Type"],
  owner: ShareOwner,
  kind: HeldKind,
  body: (holding: Holding) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const holding = ledger.open(owner, kind)
    return Effect.ensuring(body(holding), Effect.sync(holding.release))
  })
