/**
 * The client of the typed RPC for programs without Effect: methods return promises, watches are async iterables, and failures
 * are thrown as they are.
 */
import { Cause, Effect, Exit, Scope } from "effect"
import type { CallOptions, RpcApi } from "./Api.js"
import type { ClientMethod } from "./Calls.js"
import { makeCore, methodsOf } from "./Client.js"
import type { RpcFailure } from "./Failures.js"
import type { RpcClientOptions } from "./Options.js"
import type { WatchItem } from "./Records.js"
import type { OpenedWatch } from "./Watching.js"

/** A connected client. */
export interface RpcClient extends RpcApi<"promise"> {
  /** Closes the connection. Calls in flight fail, watches end. */
  readonly close: () => Promise<void>
}

const settle = async <A>(effect: Effect.Effect<A, RpcFailure>, options?: CallOptions): Promise<A> => {
  const { signal } = options ?? {}
  const exit = await Effect.runPromiseExit(effect, signal === undefined ? {} : { signal })
  if (Exit.isSuccess(exit)) return exit.value
  throw signal?.aborted === true && Cause.isInterruptedOnly(exit.cause) ? signal.reason : Cause.squash(exit.cause)
}

/** Reads one watch. An item is taken when the next one is asked for; a loop that ends closes the watch. */
class WatchIterator implements AsyncIterableIterator<WatchItem> {
  private isDone = false
  private readonly abort = new AbortController()

  constructor(
    private readonly watch: OpenedWatch,
    private readonly onEnd: (ended: WatchIterator) => void
  ) {}

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<WatchItem, undefined>> {
    if (this.isDone) return { done: true, value: undefined }
    try {
      return { done: false, value: await settle(this.watch.next, { signal: this.abort.signal }) }
    } catch (failure) {
      if (this.isDone) return { done: true, value: undefined }
      await this.return()
      throw failure
    }
  }

  async return(): Promise<IteratorResult<WatchItem, undefined>> {
    this.isDone = true
    this.onEnd(this)
    this.abort.abort()
    await settle(this.watch.close)
    return { done: true, value: undefined }
  }
}

/** Connects to the service. Rejects as `makeClient` fails. */
export const connect = async (options: RpcClientOptions): Promise<RpcClient> => {
  const scope = Effect.runSync(Scope.make())
  const open = new Set<WatchIterator>()
  const close = async () => {
    await Promise.all([...open].map((watch) => watch.return()))
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
  try {
    const { call, watch } = await settle(Scope.extend(makeCore(options), scope))
    const methods = methodsOf<unknown>({
      call: (method: ClientMethod) => {
        const ask = call(method)
        return (members?: object, more?: CallOptions) => settle(ask(members), more)
      },
      watch: (method: ClientMethod) => (start?: object) => ({
        [Symbol.asyncIterator]: () => {
          const iterator = new WatchIterator(watch(method)(start), (ended) => open.delete(ended))
          open.add(iterator)
          return iterator
        }
      })
    })
    // The members are those of the methods' schemas, which the interface repeats with its docstrings.
    return { ...methods, close } as unknown as RpcClient
  } catch (failure) {
    await close()
    throw failure
  }
}
