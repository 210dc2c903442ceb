/**
 * Has the owner of an Instant run drive it, on another node, and waits for what becomes of it. The orders for one node that
 * come in the same turn of the loop go in one message.
 */
import { Duration, Effect, Runtime, Schema } from "effect"
import { type TooManyRuns, Unavailable } from "../../domain/Failure.js"
import type { ExecutionId } from "../../domain/Ids.js"
import { NodeStarts, StartOrder, StartOutcome, takeMessage } from "../ports/run/NodeStarts.js"
import { Ownership } from "../ports/Ownership.js"
import { makeOwnerReach } from "../OwnerReach.js"
import { unavailable } from "./RunCancellation.js"
import type { DirectStart } from "./RunSpec.js"

/**
 * Between two orders of a run whose owner is not known, moves or cannot be reached, in milliseconds: each twice the one
 * before, since a planned move takes a tenth of a second.
 */
const askPauses = { first: 25, most: 200 } as const
/** How often owners are compared with the nodes that were asked. */
const lookEvery = Duration.millis(250)
/** An owner that cannot be reached for so long will not answer: whoever takes its shards would have. */
const unreachableMillis = 8_000
/** How long after its deadline a run may take to be ended. */
const endPatience = 5_000

const goesOn = () => unavailable("the run goes on on another node")
/** The refusal of a start that was sent to nobody. */
export const noRunner = () => new Unavailable({ reason: "no node runs workflows at the moment", retryAfterSeconds: 2 })

/** What became of an order: an outcome, or that its node cannot be reached, or did not answer in time. */
type Answer = StartOutcome | { readonly _tag: "Unreachable" | "Overdue" }

/** An order that waits for its answer. */
interface Waiting {
  readonly id: ExecutionId
  readonly text: string
  readonly shard: number
  readonly owner: string
  /** When it is given up, in Unix milliseconds. */
  readonly until: number
  readonly settle: (answer: Answer) => void
}

type KnownOutcome = Exclude<StartOutcome, { readonly _tag: "Moved" | "Refused" }>

/** Makes the messages to runs' owners. */
export const makeRemoteStart = Effect.gen(function* () {
  const ownership = yield* Ownership
  const clock = yield* Effect.clock
  const ask = yield* makeAsking

  /** `before`: how often the run was begun already. */
  const start = (
    { runnable, ...begun }: DirectStart,
    before: number
  ): Effect.Effect<KnownOutcome, Unavailable | TooManyRuns> =>
    Effect.gen(function* () {
      const { run } = begun
      const { contentHash, version, workflowId } = runnable
      const until = run.deadlineAt + endPatience
      let unreachableSince: number | undefined
      let pause: number = askPauses.first
      for (let repetition = before; ;) {
        const owner = ownerOf(ownership, run.shard)
        const answer: Answer =
          owner === null
            ? unreachable
            : yield* ask({ ...begun, workflowId, version, contentHash, repetition }, owner, until)
        const now = clock.unsafeCurrentTimeMillis()
        switch (answer._tag) {
          case "Refused":
            return yield* answer.failure
          case "Overdue":
            return yield* goesOn()
          case "Unreachable":
            unreachableSince ??= now
            if (now - unreachableSince > unreachableMillis) return yield* repetition === 0 ? noRunner() : goesOn()
            break
          case "Moved":
            unreachableSince = undefined
            break
          default:
            return answer
        }
        if (now > until) return yield* goesOn()
        if (owner !== null) repetition += 1
        yield* Effect.sleep(pause)
        pause = Math.min(askPauses.most, 2 * pause)
      }
    })

  return { start }
})

/** A lone node asks itself. */
const ownerOf = (ownership: Ownership["Type"], shard: number): string | null =>
  ownership.isAlone ? "" : ownership.ownerOf(shard)

const encodeOrder = Schema.encodeSync(StartOrder)
const decodeOutcome = Schema.decodeSync(StartOutcome)

const unreachable = { _tag: "Unreachable" } as const
const overdue = { _tag: "Overdue" } as const

/** Makes the function that asks a node. Its answer is `Moved` as well when another node owns the run meanwhile. */
const makeAsking = Effect.gen(function* () {
  const nodes = yield* NodeStarts
  const ownership = yield* Ownership
  const clock = yield* Effect.clock
  const withinReach = yield* makeOwnerReach
  const runFork = Runtime.runFork(yield* Effect.runtime<never>())
  /** Not sent yet, by owner. */
  const unsent = new Map<string, Array<Waiting>>()
  const waiting = new Set<Waiting>()

  const send = (owner: string, batch: ReadonlyArray<Waiting>) =>
    runFork(
      nodes.begin(
        owner,
        batch.map(({ text }) => text),
        ({ at, outcome }) => batch[at]?.settle(decodeOutcome(outcome))
      )
      // Those that were answered are settled already.
    ).addObserver(() => batch.forEach(({ settle }) => settle(unreachable)))

  const sendAll = () => {
    for (const [owner, orders] of unsent) {
      const wanted = orders.filter((one) => waiting.has(one))
      while (wanted.length > 0)
        send(
          owner,
          takeMessage(wanted, ({ text }) => text)
        )
    }
    unsent.clear()
  }

  /** Owners that are asked whether they answer, while anything waits for them. */
  const questioned = new Set<string>()
  const question = ({ id, owner }: Waiting): void => {
    questioned.add(owner)
    const isAwaited = () => {
      for (const one of waiting) if (one.owner === owner) return true
      return false
    }
    const answered = Effect.repeat(Effect.sleep(lookEvery), { while: isAwaited })
    runFork(withinReach(id, answered)).addObserver((exit) => {
      questioned.delete(owner)
      if (exit._tag === "Failure") for (const one of waiting) if (one.owner === owner) one.settle(overdue)
    })
  }

  /** A node that is gone does not answer, and one that is frozen does not even close its connection. */
  const watch = Effect.sync(() => {
    const now = clock.unsafeCurrentTimeMillis()
    // By shard: thousands of orders may wait.
    const owners = new Map<number, string | null>()
    for (const { shard } of waiting) if (!owners.has(shard)) owners.set(shard, ownerOf(ownership, shard))
    for (const one of waiting)
      if (owners.get(one.shard) !== one.owner) one.settle(moved)
      else if (now > one.until) one.settle(overdue)
      else if (!questioned.has(one.owner)) question(one)
  })
  let isWatching = false
  const watchWhileWaiting = Effect.repeat(Effect.delay(watch, lookEvery), { while: () => waiting.size > 0 }).pipe(
    Effect.ensuring(Effect.sync(() => void (isWatching = false)))
  )

  const add = (one: Waiting) => {
    if (unsent.size === 0) setImmediate(sendAll)
    const others = unsent.get(one.owner)
    if (others === undefined) unsent.set(one.owner, [one])
    else others.push(one)
    waiting.add(one)
    if (isWatching) return
    isWatching = true
    runFork(watchWhileWaiting)
  }

  return (order: StartOrder, owner: string, until: number) =>
    Effect.async<Answer>((resume) => {
      const one: Waiting = {
        id: order.run.id,
        text: encodeOrder(order),
        shard: order.run.shard,
        owner,
        until,
        settle: (answer) => {
          if (waiting.delete(one)) resume(Effect.succeed(answer))
        }
      }
      add(one)
      return Effect.sync(() => void waiting.delete(one))
    })
})

const moved = { _tag: "Moved" } as const
