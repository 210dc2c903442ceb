/**
 * The seat of a node in its cluster: a session of Postgres that holds the locks on the node's number and on its shards, and
 * the node's row. Postgres frees the locks when the session ends; the row is deleted by the node, or else by another one.
 */
import { Effect } from "effect"
import { setTimeout } from "node:timers/promises"
import { Client, DatabaseError } from "pg"
import { answerInTime } from "../process/AnswerInTime.js"
import { reasonOf, OperatorError } from "../process/OperatorError.js"
import { processName, sessionName } from "../process/ProcessName.js"
import { socketOf } from "../postgres/database/pool/AnswerLimit.js"
import { isOfProcess, ownSessions } from "../postgres/database/OwnSessions.js"
import { withServerSettings } from "../postgres/database/Pools.js"
import { holderSql, lockKey as databaseLock, nodeSession, refusalOf } from "../postgres/database/DatabaseLock.js"
import type { NodeRole } from "../../domain/run/ClusterView.js"
import { type ReleaseRecord, startRefusal } from "../../domain/run/ServiceRelease.js"
import { type ChangeNoticesOptions, nodesChannel, openChangeNotices, tellNodes } from "./ChangeNotices.js"
import { canTalk } from "./ClusterSecret.js"
import { type CommitNotices, type CommitNoticesOptions, openCommitNotices } from "./CommitNotices.js"
import { decodeNode, isGone, lockClasses, nameOf, type NodeRow, membersSql } from "../postgres/database/NodeRow.js"
import { decodeRecord, liveServiceOf, recordSql } from "../postgres/database/ReleaseRows.js"

/** What the other nodes know of this one. */
export interface NodeFacts {
  readonly role: NodeRole
  /** `null`: it gets no messages. */
  readonly address: string | null
  readonly build: string
  /** The number of its service release. */
  readonly release: number
  /** The sandbox engines of its build, the current one first. */
  readonly engines: ReadonlyArray<string>
  /** Proofs of its secrets, the one that it uses first. */
  readonly secrets: ReadonlyArray<string>
  /** It gets no shards yet. */
  readonly isStarting: boolean
}

/** How long a statement of the session may take, a beat as well: the seat is as good as lost meanwhile. */
export const statementMillis = 2_500
/** How long a session may take to end in order. */
const endMillis = 1_000
/** How long a node that is taking its seat may send nothing: others wait for it. One that is cut off keeps them out no longer. */
const silentMillis = 5_000

export interface Seat extends CommitNotices {
  readonly id: string
  readonly number: number
  /** The shards whose locks the session holds, with the time of the lock in Unix milliseconds. */
  readonly shards: Map<number, number>
  /** Reports a sign of life, and reads all nodes, this one included. `undefined`: others have taken the seat away. */
  readonly beat: () => Promise<ReadonlyArray<NodeRow> | undefined>
  /** Locks these shards, without those that another session has locked. The seat is lost if it fails. */
  readonly lock: (shards: ReadonlyArray<number>) => Promise<void>
  /** The seat is lost if it fails. */
  readonly unlock: (shards: ReadonlyArray<number>) => Promise<void>
  /**
   * Takes away the seat of a node; `undefined` if another node did, or if it showed a sign of life. It is not removed while
   * a transaction holds its row.
   */
  readonly remove: (member: NodeRow) => Promise<{ readonly process: string; readonly isRemoved: boolean } | undefined>
  /** Ends sessions of this login by the process that opened them. */
  readonly endSessions: (process: string) => Promise<void>
  /** Says that this node is ready for its part of the shards. The seat is lost if it fails. */
  readonly announceReady: () => Promise<void>
  /** Says that this node gives its shards to the others. */
  readonly announceLeaving: () => Promise<void>
  /** Tells the other nodes that records of the organisation have changed; see `ChangeNotices`. */
  readonly tellChange: (organisation: string) => Promise<void>
  /** Gives the seat up. */
  readonly leave: () => Promise<void>
}

/** Postgres ends the transaction of a node that is gone, also if nothing tells it so: while it waits, and where it would go on. */
const beginSeatSql = `BEGIN; SET LOCAL lock_timeout = ${statementMillis};
  SET LOCAL idle_in_transaction_session_timeout = ${silentMillis}`

const beatSql = `
  WITH beat AS (UPDATE nodes SET heartbeat_at = clock_timestamp() WHERE id = $1)
  ${membersSql}`

/** Ends the sessions that a process opened with the login of who runs it. */
export const endSessionsSql = `
  SELECT pg_terminate_backend(pid) FROM ${ownSessions} WHERE pid <> pg_backend_pid() AND ${isOfProcess}`

/**
 * Does not wait for a transaction of the gone node that holds its row: this node's own beats would wait as well. That
 * transaction ends with its session, and the next beat removes the row.
 */
const removeSql = `
  WITH free AS (SELECT id FROM nodes WHERE id = $1 FOR UPDATE NOWAIT)
  DELETE FROM nodes USING free WHERE nodes.id = free.id RETURNING ${tellNodes}`

/** Whether a statement found a row that another transaction has locked (lock_not_available). */
const isHeld = (cause: unknown): boolean => cause instanceof DatabaseError && cause.code === "55P03"

/** What a seat hears, and asks. */
export interface SeatEvents extends Omit<ChangeNoticesOptions & CommitNoticesOptions, "seat"> {
  /** Called once when the session ends by itself. */
  readonly onEnd: (reason: string) => void
}

/**
 * Takes a seat. Rejects with `OperatorError` when this node cannot be one of the cluster's, else with the database's
 * error.
 */
export const takeSeat = async (url: string, id: string, facts: NodeFacts, events: SeatEvents): Promise<Seat> => {
  const client = new Client({
    connectionString: withServerSettings(url),
    application_name: sessionName(nodeSession),
    connectionTimeoutMillis: 5_000,
    keepAlive: true
  })
  limitStatements(client)
  let isOpen = true
  const end = (reason: string) => {
    if (!isOpen) return
    isOpen = false
    events.onEnd(reason)
  }
  client.on("error", (error) => end(reasonOf(error)))
  client.on("end", () => end("its session ended"))
  /** Nobody knows what a statement did that failed or was not answered: its session ends, and with it every lock. */
  const orEnd = <A>(statement: Promise<A>): Promise<A> =>
    statement.catch((error: unknown) => {
      end(reasonOf(error))
      throw error
    })
  await client.connect()
  try {
    return await seat(client, id, facts, { ...events, close: () => (isOpen = false), orEnd })
  } catch (error) {
    isOpen = false
    await endSession(client)
    throw error
  }
}

/** Has each statement fail that is not answered in time. The driver's own limit would fail answers that a busy loop has not read. */
const limitStatements = (client: Client): void => {
  const query: (...statement: ReadonlyArray<unknown>) => unknown = client.query.bind(client)
  const limited = (...statement: ReadonlyArray<unknown>): unknown => {
    const answer = query(...statement)
    return answer instanceof Promise ? answerInTime(answer, statementMillis, unanswered) : answer
  }
  Reflect.set(client, "query", limited)
}

const unanswered = () => new Error("its session does not answer")

/** Ends the session after a last statement. Destroys a connection on which no answer comes: `end` would wait for ever. */
const endSession = async (client: Client, last: Promise<unknown> = Promise.resolve()): Promise<void> => {
  const orderly = last.catch(() => undefined).then(() => client.end().catch(() => undefined))
  await Promise.race([orderly, setTimeout(endMillis, undefined, { ref: false })])
  socketOf(client)?.destroy()
}

/** What a seat hears and asks, and how it ends: `close` in order, `orEnd` when a statement on locks fails. */
interface SeatHooks extends SeatEvents {
  readonly close: () => void
  readonly orEnd: <A>(statement: Promise<A>) => Promise<A>
}

const seat = async (
  client: Client,
  id: string,
  facts: NodeFacts,
  { close, onChange, onCommits, onNodes, orEnd, seats }: SeatHooks
): Promise<Seat> => {
  const shared = await client.query<{ ok: boolean }>("SELECT pg_try_advisory_lock_shared($1) AS ok", [databaseLock])
  if (shared.rows[0]?.ok !== true) {
    const { rows } = await client.query(holderSql)
    throw refusalOf(rows[0], "It is alone: stop it first, and start it with --role as well.")
  }
  // One after the other: two nodes that start, and the confirmation of a release, see each other.
  await client.query(beginSeatSql)
  const [record] = (await client.query(`${recordSql} FOR UPDATE`)).rows.map(decodeRecord)
  const refusal = foreignTo(facts, (await client.query(membersSql)).rows.map(decodeNode), record)
  if (refusal !== undefined) throw refusal
  const { rows } = await client.query<{ number: number }>(
    "SELECT n.number, pg_advisory_lock($1, n.number) FROM (SELECT nextval('node_numbers')::integer AS number) n",
    [lockClasses.node]
  )
  const number = rows[0]?.number ?? 0
  const { address, build, engines, isStarting, release, role, secrets } = facts
  // A former session of this process that the server still has would keep its locks.
  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()",
    [sessionName(nodeSession)]
  )
  // A former process at this address is gone: this one listens on it.
  await client.query("DELETE FROM nodes WHERE address = $1", [address])
  await client.query(
    `INSERT INTO nodes (id, number, role, address, build, release, engines, secrets, process, starting, leaving)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) RETURNING ${tellNodes}`,
    [id, number, role, address, build, release, engines, secrets, processName, isStarting]
  )
  await client.query("COMMIT")
  const notices = await openChangeNotices(client, { seat: id, onChange, onNodes, seats })
  const commits = await openCommitNotices(client, nodesChannel, { seat: id, onCommits })
  const shards = new Map<number, number>()
  let last = Promise.resolve()
  /** Changes the locks after the change before, whose outcome it depends on. */
  const inTurn = (change: () => Promise<void>): Promise<void> => {
    last = last.then(() => orEnd(change()))
    return last
  }
  return {
    id,
    number,
    shards,
    beat: async () => {
      const { rows: found } = await client.query({ name: "svc_beat", text: beatSql, values: [id] })
      const nodes = found.map(decodeNode)
      return nodes.some((node) => node.id === id) ? nodes : undefined
    },
    lock: (wanted) =>
      inTurn(async () => {
        // The locks of a session count: one that it has is not taken again.
        const missing = wanted.filter((shard) => !shards.has(shard))
        const found = await client.query<{ shard: number; ok: boolean }>(
          "SELECT shard, pg_try_advisory_lock($1, shard) AS ok FROM unnest($2::integer[]) AS shard",
          [lockClasses.shard, missing]
        )
        for (const { ok, shard } of found.rows) if (ok) shards.set(shard, Date.now())
      }),
    unlock: (given) =>
      inTurn(async () => {
        const held = given.filter((shard) => shards.delete(shard))
        const text = "SELECT pg_advisory_unlock($1, shard) FROM unnest($2::integer[]) AS shard"
        await client.query(text, [lockClasses.shard, held])
      }),
    remove: async (member) => {
      const { rows: found } = await client.query(`${membersSql} WHERE n.id = $1`, [member.id])
      const [now] = found.map(decodeNode)
      if (now === undefined || !isGone(now)) return undefined
      const isRemoved = await client.query(removeSql, [member.id]).then(
        ({ rowCount }) => rowCount === 1,
        (cause: unknown) => {
          if (isHeld(cause)) return false
          throw cause
        }
      )
      return { process: now.process, isRemoved }
    },
    tellChange: notices.tell,
    ...commits,
    endSessions: async (process) => void (await client.query(endSessionsSql, [process])),
    announceReady: async () =>
      void (await orEnd(
        client.query(`UPDATE nodes SET starting = false, leaving = false WHERE id = $1 RETURNING ${tellNodes}`, [id])
      )),
    announceLeaving: async () =>
      void (await client.query(`UPDATE nodes SET leaving = true WHERE id = $1 RETURNING ${tellNodes}`, [id])),
    leave: async () => {
      close()
      await endSession(client, client.query(`DELETE FROM nodes WHERE id = $1 RETURNING ${tellNodes}`, [id]))
    }
  }
}

/** Why a node with these facts cannot be one of the nodes that are there; `undefined` if it can. */
const foreignTo = (
  facts: NodeFacts,
  members: ReadonlyArray<NodeRow>,
  record: ReleaseRecord | undefined
): OperatorError | undefined => {
  const present = members.filter((member) => !isGone(member) && member.process !== processName)
  const program = { ...facts, engines: facts.role === "api" ? null : facts.engines }
  const message = startRefusal(program, present.map(liveServiceOf), record)
  if (message !== undefined) return new OperatorError({ message })
  const stranger = present.find(({ secrets }) => !canTalk(secrets, facts.secrets))
  if (stranger !== undefined)
    return new OperatorError({
      message: `SVC_CLUSTER_SECRET is not that of the cluster's nodes (${nameOf(stranger)}). Give all nodes the same.`
    })
  const twin = present.find(({ address }) => address !== null && address === facts.address)
  return twin === undefined
    ? undefined
    : new OperatorError({
        message: `A node with the address ${twin.address} runs already. Set SVC_NODE_ADDRESS to another one.`
      })
}

/** The failure of a promise of the seat: an `OperatorError`, or why it is lost. */
export const seatFailure = (cause: unknown): OperatorError | SeatLost =>
  cause instanceof OperatorError ? cause : new SeatLost(reasonOf(cause))

/** The node has no seat now. */
export class SeatLost {
  readonly _tag = "SeatLost"
  constructor(readonly reason: string) {}
}

/** Runs an operation of a seat. */
export const onSeat = <A>(operation: () => Promise<A>): Effect.Effect<A, OperatorError | SeatLost> =>
  Effect.tryPromise({ try: operation, catch: seatFailure })
