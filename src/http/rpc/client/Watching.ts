/**
 * Watches over any number of connections: each begins at the last cursor that the consumer has taken. An item is taken, and
 * acknowledged to the service, when the consumer asks for the next one; until then the service sends no more than it keeps
 * for a slow reader. Changes that may have been missed are told as a gap.
 */
import { type Clock, Effect, Either, Predicate, Schema } from "effect"
import { type ClientMethod, encodePayload, failureOf, pauseOf } from "./Calls.js"
import { type RpcFailure, unexpectedAnswer } from "./Failures.js"
import type { ServiceLink, Sent } from "./ServiceLink.js"
import type { ClientSettings } from "./Options.js"
import type { WatchItem } from "./Records.js"

/** A watch that a consumer reads item by item; not to be read concurrently. */
export interface OpenedWatch {
  /** The next item; none after `close`. */
  readonly next: Effect.Effect<WatchItem, RpcFailure>
  readonly close: Effect.Effect<void>
}

/** What a stream delivered. `isLast`: of its chunk. */
type Delivery =
  | { readonly _tag: "Item"; readonly value: unknown; readonly isLast: boolean }
  | { readonly _tag: "End"; readonly exit: unknown }
  | { readonly _tag: "Lost"; readonly failure: RpcFailure | undefined }

/** One stream of one connection. */
class Subscription {
  private readonly deliveries: Array<Delivery> = []
  private wake: (() => void) | undefined
  sent: Sent | undefined

  readonly listener = {
    onValues: (values: ReadonlyArray<unknown>) =>
      this.add(...values.map((value, at) => ({ _tag: "Item" as const, value, isLast: at === values.length - 1 }))),
    onExit: (exit: unknown) => this.add({ _tag: "End", exit }),
    onLost: ({ failure }: { readonly failure?: RpcFailure }) => this.add({ _tag: "Lost", failure })
  }

  readonly next: Effect.Effect<Delivery> = Effect.async((resume) => {
    const take = () => {
      const first = this.deliveries.shift()
      if (first === undefined) return false
      resume(Effect.succeed(first))
      return true
    }
    if (take()) return undefined
    this.wake = () => {
      if (take()) this.wake = undefined
    }
    return Effect.sync(() => {
      this.wake = undefined
    })
  })

  private add(...deliveries: ReadonlyArray<Delivery>): void {
    this.deliveries.push(...deliveries)
    this.wake?.()
  }
}

/** Opens a watch. Nothing is sent before the first item is asked for. */
export const openWatch = (
  link: ServiceLink,
  settings: ClientSettings,
  clock: Clock.Clock,
  method: ClientMethod,
  call: { readonly cursor?: string | undefined }
): OpenedWatch => {
  const decode = Schema.decodeUnknownEither(method.success as unknown as Schema.Schema<WatchItem>)
  /** From where the watch continues; `undefined`: from now. */
  let cursor = call.cursor
  /** Whether a stream was asked for before: changes between it and the next one may be missed. */
  let hasBegun = false
  let isGapDue = false
  let subscription: Subscription | undefined
  let current: { readonly cursor: string | null; readonly isLast: boolean } | undefined

  const deadlineNow = () => clock.unsafeCurrentTimeMillis() + settings.outage
  const take = () => {
    cursor = current?.cursor ?? cursor
    if (current?.isLast === true) subscription?.sent?.acknowledge()
    current = undefined
  }

  /** Asks for a stream at the cursor. */
  const subscribe = (deadline: number) =>
    Effect.gen(function* () {
      const payload = yield* encodePayload(method, cursor === undefined ? call : { ...call, cursor }, settings.customer)
      const socket = yield* link.connected(method.name, deadline)
      const opened = new Subscription()
      opened.sent = link.send(socket, method.name, payload, opened.listener)
      if (opened.sent === undefined) return
      subscription = opened
      isGapDue = isGapDue || (hasBegun && cursor === undefined)
      hasBegun = true
    })

  /** What follows the end of a stream: a failure, or another stream. */
  const resume = (exit: unknown, deadline: number) =>
    Effect.gen(function* () {
      const [pause, longest] = [settings.firstPause, deadline - clock.unsafeCurrentTimeMillis()]
      const isFailed = Predicate.isRecord(exit) && exit["_tag"] === "Failure"
      const failure = isFailed ? failureOf(method.name, exit) : "lost"
      if (failure === "lost") return yield* Effect.sleep(pause)
      if (failure.code === "INVALID_CURSOR" && cursor !== call.cursor) {
        // The service keeps cursors for minutes, and the outage was longer.
        cursor = undefined
        isGapDue = true
        return
      }
      const wait = pauseOf(failure, false)
      if (wait === undefined || wait >= longest) return yield* failure
      yield* Effect.sleep(wait)
    })

  const next: Effect.Effect<WatchItem, RpcFailure> = Effect.gen(function* () {
    take()
    let deadline = deadlineNow()
    for (;;) {
      if (subscription === undefined) {
        yield* subscribe(deadline)
        continue
      }
      if (isGapDue) {
        isGapDue = false
        return { _tag: "Gap", cursor: null }
      }
      const delivery = yield* subscription.next
      if (delivery._tag === "Item") {
        const item = yield* Either.mapLeft(decode(delivery.value), () =>
          unexpectedAnswer(method.name, "an item is not as this client expects it")
        )
        current = { cursor: item.cursor, isLast: delivery.isLast }
        return item
      }
      subscription = undefined
      if (delivery._tag === "End") yield* resume(delivery.exit, deadline)
      else {
        if (delivery.failure !== undefined) return yield* delivery.failure
        deadline = deadlineNow()
      }
    }
  })

  return {
    next,
    close: Effect.sync(() => {
      subscription?.sent?.cancel()
      subscription = undefined
    })
  }
}
