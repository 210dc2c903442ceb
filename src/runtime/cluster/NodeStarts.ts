/** Carries starts of runs between nodes: over a connection to each node that is opened when it is first needed. */
import { Runners } from "@effect/cluster"
import { RpcClient } from "@effect/rpc"
import { Cause, Chunk, Effect, Layer, Option, RcMap, Stream } from "effect"
import {
  NodeStartRpcs,
  NodeStarts,
  NodeUnreachable,
  type StartAnswer,
  takeMessage
} from "../../actors/ports/run/NodeStarts.js"
import { parseAddress } from "./ShardLocks.js"

/** An unused connection is closed after this time. */
const idleTime = "3 minutes"

type Answer = Parameters<NodeStarts["Type"]["serve"]>[0]

/** Keeps the function that answers, and has it answer the orders of a message. */
export const makeReceiver = () => {
  let answer: Answer | undefined
  const serve: NodeStarts["Type"]["serve"] = (own) =>
    Effect.acquireRelease(
      Effect.sync(() => void (answer = own)),
      () => Effect.sync(() => void (answer = undefined))
    )
  const receive = (orders: ReadonlyArray<string>): Stream.Stream<StartAnswer> =>
    Stream.suspend(() => (answer === undefined ? Stream.empty : answersOf(orders, answer)))
  return { serve, receive }
}

export type Receiver = ReturnType<typeof makeReceiver>

/** The answers to the orders of one message, as they come. */
const answersOf = (orders: ReadonlyArray<string>, answer: Answer): Stream.Stream<StartAnswer> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const queue: Array<StartAnswer> = []
      const changed = Effect.unsafeMakeLatch()
      let missing = orders.length
      const answers = orders.map((order, at) =>
        Effect.map(answer(order), (outcome) => {
          queue.push({ at, outcome })
          missing -= 1
          changed.unsafeOpen()
        })
      )
      yield* Effect.forkScoped(Effect.all(answers, { concurrency: "unbounded", discard: true }))
      const next: Effect.Effect<Chunk.Chunk<StartAnswer>, Option.Option<never>> = Effect.suspend(() => {
        if (queue.length > 0) return Effect.succeed(Chunk.unsafeFromArray(takeMessage(queue, ({ outcome }) => outcome)))
        if (missing === 0) return Effect.fail(Option.none())
        changed.unsafeClose()
        // What ends with the same commit is in one message.
        return Effect.zipRight(Effect.zipRight(changed.await, Effect.yieldNow()), next)
      })
      return Stream.repeatEffectChunkOption(next)
    })
  )

/** The orders of a node to itself. */
const loopback =
  ({ receive }: Receiver): NodeStarts["Type"]["begin"] =>
  (_, orders, onAnswer) =>
    Stream.runForEach(receive(orders), (answer) => Effect.sync(() => onAnswer(answer)))

/** For a node that is alone. */
export const local = Layer.sync(NodeStarts, () => {
  const receiver = makeReceiver()
  return NodeStarts.of({ serve: receiver.serve, begin: loopback(receiver) })
})

/** For a node of a cluster. `self`: as others name it; `null` for one that holds no shards. */
export const make = (receiver: Receiver, self: string | null) =>
  Effect.gen(function* () {
    const protocolOf = yield* Runners.RpcClientProtocol
    const nodes = yield* RcMap.make({
      lookup: (owner: string) =>
        Effect.flatMap(protocolOf(addressOf(owner)), (protocol) =>
          Effect.provideService(RpcClient.make(NodeStartRpcs, { disableTracing: true }), RpcClient.Protocol, protocol)
        ),
      idleTimeToLive: idleTime
    })
    const toSelf = loopback(receiver)

    const toOther: NodeStarts["Type"]["begin"] = (owner, orders, onAnswer) =>
      RcMap.get(nodes, owner).pipe(
        Effect.flatMap((client) => client.Begin({ orders }, { asMailbox: true })),
        Effect.flatMap((answers) =>
          Effect.iterate(false, {
            while: (isDone) => !isDone,
            body: () =>
              Effect.map(answers.takeAll, ([found, isDone]) => {
                for (const answer of found) onAnswer(answer)
                return isDone
              })
          })
        ),
        Effect.asVoid,
        Effect.scoped,
        Effect.catchAllCause((cause) =>
          Effect.zipRight(
            Cause.isDie(cause) ? Effect.logWarning("cluster.message_failed", cause) : Effect.void,
            // The next message opens a new connection.
            Effect.zipRight(RcMap.invalidate(nodes, owner), new NodeUnreachable())
          )
        )
      )

    return NodeStarts.of({
      serve: receiver.serve,
      begin: (owner, orders, onAnswer) => (owner === self ? toSelf : toOther)(owner, orders, onAnswer)
    })
  })

/** Owners are named by their addresses. */
const addressOf = (owner: string) => {
  const address = parseAddress(owner)
  if (address === undefined) throw new Error(`${owner} is no address`)
  return address
}
