/**
 * `svc cluster status`: shows the nodes on the database, who holds its shards, and whether their release is confirmed. It reads
 * only, and migrates nothing.
 */
import { Command, Options } from "@effect/cli"
import type { SqlError } from "@effect/sql/SqlError"
import { Console, Effect } from "effect"
import { type NodeCondition, WaitingEngine } from "../../domain/run/ClusterView.js"
import { serviceRelease } from "../../domain/run/ServiceRelease.js"
import {
  aloneId,
  type NodeStatus,
  readCluster,
  releaseOf,
  secondsOf,
  shortBuild,
  stateOf
} from "../cluster/ClusterReads.js"
import { shardCount } from "../postgres/database/NodeRow.js"
import { readReleases } from "../postgres/database/ReleaseRows.js"
import { readConfig } from "../configuration/Config.js"
import { reachEmbedded } from "../embedded/EmbeddedServer.js"
import { decodeHolder, holderSql, nodeSession } from "../postgres/database/DatabaseLock.js"
import { sqlStateOf } from "../postgres/database/DatabaseUnavailable.js"
import { connect } from "../postgres/database/Pools.js"
import { variableOf } from "../postgres/database/Roles.js"
import type { Sql } from "../postgres/database/Sql.js"
import { rowDecoder } from "../postgres/record/Table.js"
import { unreachableError } from "../postgres/database/UnreachableDatabase.js"
import { readRemaining, type RemainingJobs } from "../postgres/database/BackgroundWork.js"
import { OperatorError } from "../process/OperatorError.js"
import { confirmCommand } from "./ClusterConfirm.js"

/** A node as the command shows it; a service that is alone has neither number, address, version nor heartbeat. */
export interface ListedNode {
  readonly id: string
  readonly number: number | null
  readonly role: string
  readonly address: string | null
  readonly version: string | null
  readonly release: number
  readonly state: NodeCondition
  readonly since: string
  readonly secondsSinceHeartbeat: number | null
  readonly shards: number
}

export interface ClusterReport {
  readonly release: { readonly newest: number; readonly confirmed: number; readonly isConfirmed: boolean }
  /** Engines on which unfinished runs began, and that no node has. */
  readonly waiting: ReadonlyArray<WaitingEngine>
  readonly nodes: ReadonlyArray<ListedNode>
  readonly shards: { readonly total: number; readonly unowned: number }
  /** What migrations left for the background, and is not done. */
  readonly background: ReadonlyArray<RemainingJobs>
}

/** What is wrong, as one sentence; `null`: every node is alive, and all shards are held. */
export const problemOf = ({ nodes, shards }: Pick<ClusterReport, "nodes" | "shards">): string | null => {
  if (nodes.length === 0) return "No svc runs on this database."
  const problems = [
    ...(shards.unowned === 0 ? [] : [`${shards.unowned} of ${shards.total} shards are held by no node`]),
    ...nodes.flatMap((node) => (node.state === "alive" ? [] : [`${nameOf(node)} ${wordsOf(node)}`]))
  ]
  const [first = "", ...others] = problems
  return problems.length === 0 ? null : `${first.replace(/^n/, "N")}${others.map((one) => `, and ${one}`).join("")}.`
}

/** The table of the nodes, how many shards they hold, and the stage of their release. */
export const tableOf = ({ background, nodes, release, shards, waiting }: ClusterReport): ReadonlyArray<string> => {
  const { total, unowned } = shards
  const rows = nodes.map((node) => [
    node.id,
    node.number === null ? "-" : `${node.number}`,
    node.role,
    node.address ?? "-",
    node.version ?? "-",
    `${node.release}`,
    node.state,
    node.since,
    node.secondsSinceHeartbeat === null ? "-" : `${node.secondsSinceHeartbeat} s ago`,
    `${node.shards}`
  ])
  const lines = [
    ["NODE", "NUMBER", "ROLE", "ADDRESS", "BUILD", "RELEASE", "STATE", "SINCE", "HEARTBEAT", "SHARDS"],
    ...rows
  ]
  const widths = (lines[0] ?? []).map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  const text = lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd()
  )
  return [
    ...(nodes.length === 0 ? [] : [...text, ""]),
    `${total - unowned} of ${total} shards are held.`,
    ...(nodes.length === 0 ? [] : [stageOf(release)]),
    ...waiting.map(({ engine, runs }) => `${runs} unfinished runs wait for the engine ${engine}, which no node has.`),
    ...background.map(({ remaining, task }) => `${remaining} jobs of the background task ${task} are left.`)
  ]
}

const stageOf = ({ confirmed, isConfirmed, newest }: ClusterReport["release"]): string =>
  isConfirmed
    ? `Release ${confirmed} is confirmed.`
    : `Release ${newest} is not confirmed: the nodes can go back to release ${confirmed}, until svc cluster confirm.`

const json = Options.boolean("json").pipe(Options.withDescription("Print JSON instead of a table"))

const status = Command.make("status", { json }, ({ json }) =>
  Effect.gen(function* () {
    const { database, dataDir } = yield* readConfig()
    const { owner } = database._tag === "External" ? database.urls : (yield* reachEmbedded({ dataDir })).urls
    const options = {
      maxConnections: 1,
      applicationName: "svc cluster status",
      statementTimeout: "10 seconds"
    } as const
    const report = yield* read(yield* connect(owner, { ...options, setting: variableOf(owner, "owner") }))
    const problem = problemOf(report)
    if (json) yield* Console.log(JSON.stringify({ ...report, problem }, undefined, 2))
    else for (const line of tableOf(report)) yield* Console.log(line)
    if (problem !== null) return yield* new OperatorError({ message: problem })
  }).pipe(Effect.scoped, Effect.catchTag("SqlError", explained))
).pipe(
  Command.withDescription(
    "Show the nodes and their shards. Ends with 1 unless all shards are held and every node is alive"
  )
)

export const clusterCommand = Command.make("cluster").pipe(
  Command.withDescription("The nodes that share a database"),
  Command.withSubcommands([status, confirmCommand])
)

// --- Private ---

const read = Effect.fnUntraced(function* (sql: Sql) {
  const [holder] = (yield* sql.unsafe(holderSql)).map(decodeHolder)
  // Rows of nodes beside a service that is alone are those of ended processes.
  if (holder !== undefined && !holder.name.startsWith(nodeSession)) return yield* readAlone(sql, holder)
  const { confirmed, heldShards, nodes } = yield* readCluster(sql, "")
  const begun = (yield* sql.unsafe(begunSql)).map(decodeBegun)
  const computing = nodes.filter((node) => node.role !== "api" && stateOf(node) !== "silent")
  const carried = new Set(computing.flatMap(({ engines }) => engines ?? []))
  return {
    release: releaseOf(nodes, confirmed),
    waiting: begun.filter(({ engine }) => !carried.has(engine)),
    nodes: nodes.map(listed),
    shards: { total: shardCount, unowned: Math.max(0, shardCount - heldShards) },
    background: yield* readRemaining(sql)
  }
})

const begunSql = "SELECT engine, count(*)::int AS runs FROM runs GROUP BY engine"
const decodeBegun = rowDecoder("runs", WaitingEngine)

/** `/readyz` of a service that is alone names the engines that it lacks. */
const readAlone = Effect.fnUntraced(function* (sql: Sql, holder: { readonly since: number }) {
  const { live, record } = yield* readReleases(sql)
  const release = live[0]?.release ?? serviceRelease
  return {
    release: releaseOf([{ release }], record?.confirmed ?? release),
    waiting: [],
    nodes: [aloneNode(holder, release)],
    shards: { total: shardCount, unowned: 0 },
    background: yield* readRemaining(sql)
  }
})

const aloneNode = ({ since }: { readonly since: number }, release: number): ListedNode => ({
  id: aloneId,
  number: null,
  role: "all",
  address: null,
  version: null,
  release,
  state: "alive",
  since: new Date(since).toISOString(),
  secondsSinceHeartbeat: null,
  shards: shardCount
})

const listed = (node: NodeStatus): ListedNode => ({
  id: node.id,
  number: node.number,
  role: node.role,
  address: node.address,
  version: shortBuild(node.build),
  release: node.release,
  state: stateOf(node),
  since: new Date(node.since).toISOString(),
  secondsSinceHeartbeat: secondsOf(node.silentMillis),
  shards: node.shards
})

const nameOf = ({ address, number, role }: ListedNode): string =>
  `node ${number} (${role}${address === null ? "" : ` at ${address}`})`

const wordsOf = ({ secondsSinceHeartbeat, state }: ListedNode): string =>
  state === "leaving" || state === "starting" ? `is ${state}` : `is silent for ${secondsSinceHeartbeat} s`

/** SQLSTATEs of a table and of a column that do not exist. */
const undefinedNames = ["42P01", "42703"]

const explained = (error: SqlError): Effect.Effect<never, OperatorError> =>
  undefinedNames.includes(sqlStateOf(error) ?? "")
    ? new OperatorError({
        message:
          "This database has no table of nodes, or no releases: it is of an earlier release, or not migrated. Run svc migrate."
      })
    : unreachableError(error)
