/** Orders and answers between nodes: many in a message, each message bounded, and no order without an end. */
import { SocketServer } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { RpcSerialization, RpcServer } from "@effect/rpc"
import { Effect, ExecutionStrategy, Exit, FastCheck, Layer, Scope } from "effect"
import { NodeStartRpcs, NodeStarts, type StartAnswer, takeMessage } from "../../src/actors/ports/run/NodeStarts.js"
import { clusterKeys } from "../../src/runtime/cluster/ClusterSecret.js"
import { frames, maxFrameBytes } from "../../src/runtime/cluster/Frames.js"
import { local, make, makeReceiver } from "../../src/runtime/cluster/NodeStarts.js"
import { clients, protocol, serve } from "../../src/runtime/cluster/NodeTransport.js"
import { eventually } from "../support/eventually.js"

const keys = clusterKeys(["a".repeat(32)])
type Serve = Parameters<NodeStarts["Type"]["serve"]>[0]

/** Two nodes: one that answers, and one that asks it. */
const twoNodes = (answer: Serve) =>
  Effect.gen(function* () {
    const [key] = keys
    if (key === undefined) throw new Error("no key")
    const receiver = makeReceiver()
    yield* receiver.serve(answer)
    const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
    const server = yield* Scope.extend(serve(keys, "127.0.0.1", 0), scope)
    const port = server.address._tag === "TcpAddress" ? server.address.port : 0
    yield* Scope.extend(
      Layer.build(
        RpcServer.layer(NodeStartRpcs).pipe(
          Layer.provide(NodeStartRpcs.toLayer({ Begin: ({ orders }) => receiver.receive(orders) })),
          Layer.provide(protocol),
          Layer.provide(Layer.succeed(SocketServer.SocketServer, server)),
          Layer.provide(Layer.succeed(RpcSerialization.RpcSerialization, frames))
        )
      ),
      scope
    )
    const asking = yield* Effect.provide(make(makeReceiver(), null), clients(key))
    return { asking, owner: `127.0.0.1:${port}`, stop: Scope.close(scope, Exit.void) }
  })

describe("a message of orders", () => {
  it("holds 64 texts and 2 MiB at most, or one text, in their order", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.nat(3_000_000), { maxLength: 200 }), (lengths) => {
        const queue = lengths.map((length) => ({ length }))
        const taken: Array<number> = []
        while (queue.length > 0) {
          // Only its length is read.
          const message = takeMessage(queue, (one) => one as string)
          assert.isAtLeast(message.length, 1)
          assert.isAtMost(message.length, 64)
          if (message.length > 1)
            assert.isAtMost(
              message.reduce((sum, { length }) => sum + length, 0),
              2 * 1_048_576
            )
          taken.push(...message.map(({ length }) => length))
        }
        assert.deepStrictEqual(taken, lengths)
      })
    )
  })

  it.scopedLive("is answered as its runs end, however large the answers are together", () =>
    Effect.gen(function* () {
      const large = "x".repeat(1_048_576)
      const count = 64
      const { asking, owner } = yield* twoNodes((order) =>
        order === "slow" ? Effect.delay(Effect.succeed("slow"), "200 millis") : Effect.succeed(`${order} ${large}`)
      )
      assert.isAbove(count * large.length, maxFrameBytes)
      const answers: Array<StartAnswer> = []
      const orders = ["slow", ...Array.from({ length: count - 1 }, (_, n) => String(n))]
      yield* asking.begin(owner, orders, (answer) => void answers.push(answer))
      assert.deepStrictEqual(answers.at(-1), { at: 0, outcome: "slow" })
      const places = answers.map(({ at }) => at)
      assert.deepStrictEqual(
        places.toSorted((a, b) => a - b),
        orders.map((_, at) => at)
      )
      for (const { at, outcome } of answers.slice(0, -1)) assert.strictEqual(outcome, `${orders[at]} ${large}`)
    })
  )

  it.scopedLive("ends without the answers that a node does not give before it ends, and finds none after that", () =>
    Effect.gen(function* () {
      let begun = 0
      const { asking, owner, stop } = yield* twoNodes(() =>
        Effect.zipRight(
          Effect.sync(() => void begun++),
          Effect.never
        )
      )
      const answers: Array<StartAnswer> = []
      const asked = yield* Effect.fork(
        Effect.exit(asking.begin(owner, ["one", "two"], (one) => void answers.push(one)))
      )
      yield* Effect.promise(() =>
        eventually(
          async () => begun,
          (n) => n === 2
        )
      )
      yield* stop
      const exit = yield* Effect.timeout(asked, "5 seconds")
      assert.isTrue(Exit.isFailure(exit))
      const again = yield* Effect.exit(asking.begin(owner, ["three"], (one) => void answers.push(one)))
      assert.isTrue(Exit.isFailure(again))
      assert.lengthOf(answers, 0)
    })
  )

  it.scopedLive("of a node to itself is answered by that node, once it serves", () =>
    Effect.gen(function* () {
      const starts = yield* NodeStarts
      const answers: Array<StartAnswer> = []
      const ask = starts.begin("", ["one"], (one) => void answers.push(one))
      yield* ask
      assert.lengthOf(answers, 0)
      yield* Effect.scoped(Effect.zipRight(starts.serve(Effect.succeed), ask))
      yield* ask
      assert.deepStrictEqual(answers, [{ at: 0, outcome: "one" }])
    }).pipe(Effect.provide(local))
  )
})
