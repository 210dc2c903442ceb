/**
 * The client of the typed RPC for programs with Effect. It connects again by itself, to the next address if it has several.
 * Specification: typed RPC.
 */
import { RpcSchema } from "@effect/rpc"
import { Effect, Option, type Schema, type Scope, Stream } from "effect"
import type { RpcApi } from "./Api.js"
import { callOf, type ClientMethod } from "./Calls.js"
import type { RpcFailure } from "./Failures.js"
import { ServiceLink } from "./ServiceLink.js"
import { repetitions, SvcMethods } from "./Methods.js"
import { type RpcClientOptions, settingsOf } from "./Options.js"
import { type OpenedWatch, openWatch } from "./Watching.js"

/** The methods by group and name, from what makes a call and a watch of each. */
export const methodsOf = <A>(ways: {
  readonly call: (method: ClientMethod) => A
  readonly watch: (method: ClientMethod) => A
}): Record<string, Record<string, A>> => {
  const groups: Record<string, Record<string, A>> = {}
  for (const rpc of SvcMethods.requests.values()) {
    const [group = "", method = ""] = rpc._tag.split(".")
    const stream = RpcSchema.getStreamSchemas(rpc.successSchema.ast)
    const declared = {
      name: rpc._tag,
      repetition: repetitions[rpc._tag],
      payload: rpc.payloadSchema,
      // All schemas of the methods decode without services, which those of streams do not say.
      success: (Option.isSome(stream) ? stream.value.success : rpc.successSchema) as Schema.Schema.AnyNoContext
    }
    const members = (groups[group] ??= {})
    members[method] = Option.isSome(stream) ? ways.watch(declared) : ways.call(declared)
  }
  return groups
}

/** What both forms of the client are made from. */
export interface RpcCore {
  readonly call: (method: ClientMethod) => (call?: object) => Effect.Effect<unknown, RpcFailure>
  readonly watch: (method: ClientMethod) => (start?: object) => OpenedWatch
}

/** Connects. Closed with its scope. */
export const makeCore = (options: RpcClientOptions): Effect.Effect<RpcCore, RpcFailure, Scope.Scope> =>
  Effect.gen(function* () {
    const settings = yield* settingsOf(options)
    const clock = yield* Effect.clock
    const link = yield* Effect.acquireRelease(
      Effect.map(Effect.scope, (scope) => new ServiceLink(settings, clock, scope)),
      (link) => Effect.sync(() => link.close())
    )
    yield* link.connected("connect", clock.unsafeCurrentTimeMillis() + settings.patience)
    return {
      call: (method) => {
        const call = callOf(link, settings, clock, method)
        return (members = {}) => call(members)
      },
      watch:
        (method) =>
        (start = {}) =>
          openWatch(link, settings, clock, method, start)
    }
  })

/**
 * Connects to the service, and offers its methods until the scope closes. Fails with `Unauthorized` or `Forbidden` if the key may
 * not connect, and with `ConnectionLost`, `RateLimited` or `Unavailable` if there is no connection within `patience`.
 */
export const makeClient = (options: RpcClientOptions): Effect.Effect<RpcApi<"effect">, RpcFailure, Scope.Scope> =>
  Effect.map(makeCore(options), ({ call, watch }) => {
    const streamOf = (method: ClientMethod) => (start?: object) =>
      Stream.unwrapScoped(
        Effect.map(
          Effect.acquireRelease(
            Effect.sync(() => watch(method)(start)),
            ({ close }) => close
          ),
          // One by one, so that an item is taken only when the next one is asked for.
          ({ next }) => Stream.repeatEffect(next)
        )
      )
    // The members are those of the methods' schemas, which the interface repeats with its docstrings.
    return methodsOf<unknown>({ call, watch: streamOf }) as unknown as RpcApi<"effect">
  })
