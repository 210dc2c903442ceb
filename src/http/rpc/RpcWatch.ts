/** Watches as streams of the typed RPC. An item that its client has not acknowledged waits, up to a limit. */
import { Effect, Exit, Mailbox, type Scope } from "effect"
import type { OpenWatch, WatchBatch, WatchBounds, WatchMessage } from "../../actors/management/watch/Watcher.js"
import { type Failure, Unavailable } from "../../domain/Failure.js"
import { rpcLimits } from "../../domain/rpc/RpcLimits.js"
import type { WatchPosition } from "../../domain/watch/WatchPosition.js"

/** What a stream tells. `cursor`: a later stream continues after it; `null`: after the last one that was not null. */
type WatchItem = (
  | { readonly _tag: "Changed"; readonly id: string; readonly status: string; readonly at: string }
  | { readonly _tag: "Many"; readonly count: number }
  | { readonly _tag: "Gap" }
  | { readonly _tag: "Position" }
) & { readonly cursor: string | null }

/** How many watches there may be. */
export const rpcBounds: WatchBounds = {
  ofCaller: rpcLimits.watchesOfCaller,
  ofNode: rpcLimits.watchesOfNode,
  isPrompt: true,
  silenceMillis: 60_000
}

const itemOf = (message: WatchMessage, cursor: string | null): WatchItem => {
  if (message.topic === "reset") return { _tag: "Gap", cursor }
  return "many" in message
    ? { _tag: "Many", count: message.many, cursor }
    : { _tag: "Changed", id: message.id, status: message.status, at: new Date(message.at).toISOString(), cursor }
}

/** The items of a batch: the last one has the cursor. */
const itemsOf = ({ messages }: WatchBatch, cursor: string | null): ReadonlyArray<WatchItem> =>
  messages.length === 0
    ? [{ _tag: "Position", cursor }]
    : messages.map((one, n) => itemOf(one, n === messages.length - 1 ? cursor : null))

const tooSlow = () =>
  new Unavailable({
    reason: `${rpcLimits.unsentItems} changes wait to be read: watch again from the last cursor, and read faster`,
    retryAfterSeconds: 1
  })

/** The items of a watch, until it or the scope ends. `failureOf`: a failure as clients get it. */
export const watchItems = (
  watch: OpenWatch,
  positionText: (position: WatchPosition) => string,
  failureOf: (failure: Failure) => unknown
): Effect.Effect<Mailbox.ReadonlyMailbox<WatchItem, unknown>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const items = yield* Mailbox.make<WatchItem, unknown>()
    const send = (batch: WatchBatch) => {
      const added = itemsOf(batch, batch.position === undefined ? null : positionText(batch.position))
      const waiting = items.unsafeSize()
      if (waiting._tag === "Some" && waiting.value + added.length > rpcLimits.unsentItems) {
        close()
        items.unsafeDone(Exit.fail(failureOf(tooSlow())))
      } else items.unsafeOfferAll(added)
    }
    const close = watch.attach({ send, end: () => items.unsafeDone(Exit.void) })
    yield* Effect.addFinalizer(() => Effect.sync(close))
    return items
  })
