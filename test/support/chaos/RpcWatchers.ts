/**
 * Watches of a customer's runs and events by the RPC client: one that stays, and one whose client goes and comes back with its
 * last cursor. Each has to tell of every end and of every event, or that it may have missed some.
 */
import { setTimeout as pause } from "node:timers/promises"
import type { RpcClient, RpcFailure, WatchItem } from "../../../src/http/rpc/client/Package.js"
import type { TestCluster } from "../cluster.js"
import type { Trial } from "./Trial.js"

const againMillis = 200
/** How long a client that comes and goes stays, and is away. */
const stayMillis = 6_000
const awayMillis = 1_500
/** Until the last change has been told. */
const restMillis = 3_000
/** What the clock of Postgres and the time of an item may differ by. */
const allowanceMillis = 2_000

/** Failures after which a watch goes on from its last cursor. */
const passing: ReadonlySet<string> = new Set(["ConnectionLost", "Unavailable", "RateLimited"])

type Topic = "executions" | "events"

/** A record that has to be told of: an end, or an event. */
interface Expected {
  readonly id: string
  readonly status: string
  /** Unix milliseconds of its commit, about. */
  readonly at: number
}

/** Changes that were told of by a gap, or by their number: of which times, and how many they may be. */
interface Unnamed {
  readonly from: number
  readonly until: number
  left: number
}

interface Watched {
  readonly name: string
  readonly topic: Topic
  /** The statuses in which each record was told of. */
  readonly told: ReadonlyMap<string, ReadonlySet<string>>
  readonly unnamed: ReadonlyArray<Unnamed>
  /** When it told of its first position, in Unix milliseconds. */
  readonly begunAt: number
}

export interface Watchers {
  /** Resolves when all watches have begun. */
  readonly begin: () => Promise<void>
  readonly judge: (cluster: TestCluster, customer: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** `open`: connects a client of the customer. */
export const makeWatchers = (trial: Trial, open: () => Promise<RpcClient>): Watchers => {
  const { say, tried, violated } = trial
  const watched: Array<Watched> = []
  const clients = new Set<RpcClient>()
  const ended: Array<Promise<void>> = []
  const state = { isClosed: false }

  /** Connects until it succeeds. */
  const connected = async (): Promise<RpcClient | undefined> => {
    while (!state.isClosed) {
      try {
        const client = await open()
        clients.add(client)
        return client
      } catch {
        await pause(againMillis)
      }
    }
    return undefined
  }

  const follow = (topic: Topic, name: string, stays: boolean): Promise<void> => {
    const told = new Map<string, Set<string>>()
    const unnamed: Array<Unnamed> = []
    /** When there was a cursor, before which everything had been told of. */
    let wholeAt = Date.now()
    let cursor: string | undefined
    let begin: (at: number) => void = () => undefined
    const begun = new Promise<number>((resolve) => {
      begin = resolve
    })

    const take = (item: WatchItem) => {
      const now = Date.now()
      if (cursor === undefined && item.cursor !== null) begin(now)
      cursor = item.cursor ?? cursor
      if (item._tag === "Changed") {
        tried("watches")
        const statuses = told.get(item.id) ?? new Set()
        told.set(item.id, statuses.add(item.status))
      } else if (item._tag !== "Position")
        unnamed.push({ from: wholeAt, until: now, left: item._tag === "Many" ? item.count : Infinity })
      if (item.cursor !== null) wholeAt = now
    }

    /** Until the watch fails, or its client is to go. */
    const read = async (client: RpcClient, untilMillis: number) => {
      const items = client[topic].watch(cursor === undefined ? {} : { cursor })[Symbol.asyncIterator]()
      const over = pause(Math.min(untilMillis, 2 ** 30), "over" as const, { ref: false })
      try {
        for (;;) {
          const next = await Promise.race([items.next(), over])
          if (next === "over" || next.done === true) return
          take(next.value)
        }
      } catch (error) {
        const failure = error as RpcFailure
        if (state.isClosed) return
        if (failure._tag === "InvalidRequest" && failure.code === "INVALID_CURSOR") {
          unnamed.push({ from: wholeAt, until: Date.now(), left: Infinity })
          cursor = undefined
        } else if (!passing.has(failure._tag)) violated("watches", `${name} failed: ${failure._tag} ${failure.message}`)
        await pause(againMillis)
      }
    }

    const work = async () => {
      let client = await connected()
      while (!state.isClosed && client !== undefined) {
        await read(client, stays ? Infinity : stayMillis)
        if (stays || state.isClosed) continue
        clients.delete(client)
        await client.close()
        await pause(awayMillis)
        client = await connected()
      }
    }
    ended.push(work())
    return begun.then((begunAt) => void watched.push({ name, topic, told, unnamed, begunAt }))
  }

  const judgeOne = ({ begunAt, name, told, topic, unnamed }: Watched, expected: ReadonlyArray<Expected>) => {
    let unsaid = 0
    // In the order of their times, so that those that end first use up what is told first.
    for (const { at, id, status } of expected.toSorted((one, other) => one.at - other.at)) {
      if (at < begunAt + allowanceMillis) continue
      const statuses = told.get(id)
      if (topic === "executions" ? statuses?.has(status) === true : statuses !== undefined) continue
      unsaid++
      const among = unnamed.find(
        ({ from, left, until }) => left > 0 && at > from - allowanceMillis && at < until + allowanceMillis
      )
      if (among !== undefined) among.left--
      else violated("watches", `${name} told neither of ${id} (${status}, ${new Date(at).toISOString()}) nor of a gap`)
    }
    const gaps = unnamed.filter(({ left }) => left === Infinity).length
    say(
      `${name} told of ${told.size} records; ${unsaid} of ${expected.length} are in one of ${gaps} gaps, or among those that ` +
        `${unnamed.length - gaps} items only count`
    )
  }

  return {
    begin: async () => {
      await Promise.all([
        follow("executions", "the watch of runs", true),
        follow("executions", "the watch of runs that comes and goes", false),
        follow("events", "the watch of events", true),
        follow("events", "the watch of events that comes and goes", false)
      ])
    },
    judge: async (cluster, customer) => {
      await pause(restMillis)
      const runs = await cluster.sql<{ id: string; status: string; at: Date }>(
        "SELECT id, status, finished_at AS at FROM executions WHERE customer_id = $1",
        [customer]
      )
      const events = await cluster.sql<{ id: string; status: string; at: Date }>(
        "SELECT id, status, received_at AS at FROM event_records WHERE customer_id = $1",
        [customer]
      )
      for (const one of watched)
        judgeOne(
          one,
          (one.topic === "executions" ? runs : events).map(({ at, id, status }) => ({ id, status, at: at.getTime() }))
        )
    },
    close: async () => {
      state.isClosed = true
      await Promise.all([...clients].map((client) => client.close()))
      await Promise.all(ended)
    }
  }
}
