/**
 * A trial: a cluster of one `api` node and three `runner` nodes under load, whose nodes are killed, frozen, cut off, stopped
 * and joined, get wrong clocks and are replaced by another build, and whose Postgres and NATS are restarted, as a seed draws it. Ends with everything healed and all work done, and judges each promise.
 */
import { Effect, Exit, Scope } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { serviceRelease } from "../../../src/domain/run/ServiceRelease.js"
import { makeCluster, type TestCluster } from "../cluster.js"
import { balanceConnections } from "../connectionBalancer.js"
import { eventually } from "../eventually.js"
import { startNats } from "../natsServer.js"
import { startOAuthProvider } from "../oauthProvider.js"
import { assertSound } from "../proofs.js"
import { startProvider } from "../provider.js"
import { buildRelease } from "../release.js"
import { createSecondOrganisation } from "../secondOrganisation.js"
import { makeDataDirectory } from "../Service.js"
import { makeTickSchedules } from "../tickSchedules.js"
import { makeAccessLoad } from "./AccessLoad.js"
import { makeConnectionLoad } from "./ConnectionLoad.js"
import { startFarm } from "./Farm.js"
import { makeFarmLoad } from "./FarmLoad.js"
import { makeFaults } from "./Faults.js"
import { makeLedger } from "./Ledger.js"
import { makeMembers } from "./Members.js"
import { hearMessages, type Messages } from "./Messages.js"
import { makeStarter, type TrialNode } from "./Nodes.js"
import { startOwnPostgres } from "./OwnPostgres.js"
import { drawFaults, drawMoods, randomOf } from "./Plan.js"
import { makeRunLoad } from "./RunLoad.js"
import { makeRpcLoad } from "./RpcLoad.js"
import { tellIdleSessions } from "./Sessions.js"
import { judgeRuns } from "./RunVerdict.js"
import { type IsLate, makeTrial, type Trial } from "./Trial.js"
import { promptConnectEnv } from "../connectTimeout.js"

interface ChaosOptions {
  readonly seed: number
  readonly durationMillis: number
  /** At which the cluster answers; 0: a free one. */
  readonly port: number
  /** A directory for the logs of the nodes, one file for each. */
  readonly logs?: string | undefined
  /** No time is bounded without it. */
  readonly isLate?: IsLate
  /** Told what happens, as it happens. */
  readonly print: (line: string) => void
}

const schedules = 30
const wholeMillis = 15_000
/** Until all accepted work has ended. */
const drainMillis = 120_000
/** A trial that lasts so long tries every promise. */
const fullMillis = 60_000
/** Until the last event has been told to those who wait for it. */
const restMillis = 1_500

/** The next release: with an engine of its own, a further migration and a further member of a message. */
const buildNext = async () => {
  const next = await buildRelease("chaos", {
    number: serviceRelease + 1,
    migrations: [
      {
        name: "9001_expand",
        oldestBeside: serviceRelease,
        statement: "ALTER TABLE executions ADD COLUMN of_next_release text"
      }
    ],
    extendsMessages: true
  })
  next.carryBuilt()
  return next
}

/** Returns the violations, after it has printed the table. */
export const runChaos = async ({
  durationMillis,
  isLate,
  logs,
  port,
  print,
  seed
}: ChaosOptions): Promise<ReadonlyArray<string>> => {
  const begun = Date.now()
  const say = (line: string) => print(`${((Date.now() - begun) / 1_000).toFixed(1).padStart(6)} s  ${line}`)
  const trial = makeTrial(say, isLate)
  const { nodes, tried, violated } = trial
  const scope = Effect.runSync(Scope.make())
  const nats = await Effect.runPromise(Scope.extend(startNats(), scope))
  const messages = await hearMessages(nats.url, mark)
  const provider = await startProvider()
  const tokens = await startOAuthProvider()
  const farm = await startFarm(randomOf(seed))
  const ledger = makeLedger(trial)
  const [postgres, next] = await Promise.all([startOwnPostgres(), buildNext()])
  const cluster = await makeCluster(promptConnectEnv, postgres.database)
  const place = makeDataDirectory()
  const closing: Array<() => Promise<void>> = []
  const balancer = await balanceConnections(port, () =>
    nodes.filter(({ isGone, role }) => role === "api" && !isGone).map(({ node }) => node)
  )
  try {
    const start = makeStarter(cluster, {
      natsPort: nats.port,
      postgresPort: postgres.port,
      next,
      directory: place.directory
    })
    const members = makeMembers(trial, start)
    const faults = makeFaults(trial, { members, nats, postgres })
    await Promise.all((["api", "runner", "runner", "runner"] as const).map(members.join))
    say(`the cluster answers at ${balancer.url}`)
    const front = nodes.find(({ role }) => role === "api")
    if (front === undefined) throw new Error("no api node started")
    await cluster.whole(3)
    const stranger = await createSecondOrganisation(place.dataDir, "Stranger", cluster.env)
    const runs = await makeRunLoad(trial, front, provider)
    const connections = await makeConnectionLoad(trial, front, tokens)
    const items = await makeFarmLoad(trial, front, farm)
    const remote = await makeRpcLoad(trial, front, { url: balancer.url, farm, connections: items.connections })
    closing.push(remote.close)
    const access = makeAccessLoad(trial, stranger, {
      records: () => [...runs.accepted.values()],
      connections: connections.ids
    })
    const flow = await front.node.client.workflow("tick", "standard", "export default async (ctx) => ctx.event.id")
    const ticks = await makeTickSchedules(front.node.client, cluster.sql, { flow, schedules, missed: 1 })

    say(`the load begins; seed ${seed}`)
    const loads = [
      runs.send(),
      connections.send(),
      access.send(),
      items.send(drawMoods(seed, durationMillis)),
      remote.send()
    ]
    const sessions = tellIdleSessions(trial, cluster)
    await faults.run(drawFaults(seed, durationMillis))
    const healedAt = Date.now()
    say(`all faults are over: ${[...faults.done].map(([kind, count]) => `${count} ${kind}`).join(", ")}`)
    trial.isOver = true
    await recover(trial, cluster, healedAt)
    await Promise.all([...loads, sessions])
    say("all work was accepted")
    const until = new Date(Date.now() - restMillis)
    await drain(trial, cluster)
    tried("ticks", (await ticks.summarise(until)).ticks)
    for (const tick of await ticks.wrong(until)) violated("ticks", JSON.stringify(tick))
    await ticks.remove()
    await judgeRuns(trial, cluster, runs, provider, ledger)
    await items.judge(cluster, ledger)
    await remote.judge(cluster, ledger)
    await connections.judge(cluster, ledger)
    await judgeDeadLetters(trial, cluster)
    judgeSecrets(trial, nodes)
    judgeMessages(trial, messages)
    tried("secrets", messages.events())
    // A shorter trial may end before each kind of work was due.
    if (durationMillis >= fullMillis) for (const name of trial.untried()) violated(name, "nothing has tried it")
  } finally {
    if (logs !== undefined) keepLogs(logs, nodes)
    for (const close of closing) await close()
    for (const one of nodes) one.isGone = true
    await cluster.end().catch((error: unknown) => violated("recovery", String(error)))
    balancer.close()
    await provider.close()
    await tokens.close()
    await farm.close()
    await messages.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await postgres.close()
    next.remove()
    place.remove()
  }
  print(`\n${ledger.table()}\n\n${trial.table()}`)
  print(
    trial.violations().length === 0
      ? `\nNo promise was violated. Seed ${seed}.`
      : `\n${trial.violations().length} violations. Again: npm run chaos -- --duration ${durationMillis / 1_000}s --seed ${seed}`
  )
  return trial.violations()
}

/** All shards have an owner soon after the last fault. */
const recover = async ({ isLate, nodes, say, tried, violated }: Trial, cluster: TestCluster, healedAt: number) => {
  tried("recovery")
  const holders = () => nodes.filter(({ isGone, role }) => role === "runner" && !isGone).length
  try {
    await cluster.whole(holders())
    const took = Date.now() - healedAt
    if (isLate(took, wholeMillis)) violated("recovery", `all shards were held after ${took} ms`)
    say(`all shards are held, ${took} ms after the last fault`)
  } catch (error) {
    violated("recovery", `not all shards are held: ${String(error)}`)
  }
}

/** What has not ended, with the place in Postgres of the process that holds its shard. */
const openSql = `
  SELECT r.id, to_jsonb(r) - 'record' AS run, r.record->>'workflowName' AS workflow, a.application_name AS owner,
    (SELECT jsonb_agg(s.record) FROM steps s WHERE s.id = r.id) AS steps, now() AS now FROM runs r
  LEFT JOIN pg_locks l ON l.classid::bigint = 1937137969 AND l.objid::bigint = r.shard AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  LEFT JOIN pg_stat_activity a USING (pid)
  UNION ALL SELECT q.id, to_jsonb(q), NULL, NULL, NULL, now() FROM start_queue q LIMIT 50`

/** Awaits the end of all runs, and that the cluster finds itself sound. */
const drain = async ({ ask, nodes, say, violated }: Trial, cluster: TestCluster) => {
  const began = Date.now()
  const open = () => cluster.sql<{ readonly id: string }>(openSql)
  await eventually(open, (rows) => rows.length === 0, drainMillis).catch(async () => {
    for (const row of await open()) violated("ends", `open after ${drainMillis} ms: ${JSON.stringify(row)}`)
  })
  await pause(restMillis)
  const get = async (target: string) => (await ask("GET", target))?.body
  await assertSound(get).catch((error: unknown) => violated("recovery", String(error)))
  for (const one of nodes.filter(({ isGone }) => !isGone)) {
    const { status } = await fetch(`${one.node.url}/readyz`)
    if (status !== 200) violated("recovery", `${one.name} is not ready`)
  }
  say(`all work has ended, ${Date.now() - began} ms later`)
}

/** All work of the trial succeeds, but for what a lost connection ends: nothing becomes a dead letter. */
const judgeDeadLetters = async ({ violated }: Trial, cluster: TestCluster) => {
  for (const row of await cluster.sql<{ id: string }>(
    `SELECT d.* FROM dead_letters d LEFT JOIN executions e ON e.id = d.execution_id
     WHERE e.record->>'workflowName' IS DISTINCT FROM 'connected' LIMIT 50`
  ))
    violated("accepted", `the dead letter ${row.id}: ${JSON.stringify(row).slice(0, 1_000)}`)
}

const keepLogs = (directory: string, nodes: ReadonlyArray<TrialNode>) => {
  fs.mkdirSync(directory, { recursive: true })
  for (const { name, node } of nodes) fs.writeFileSync(path.join(directory, `${name}.log`), node.output())
}

/** Of the provider's tokens and the secrets of the connector. */
const mark = "canary_"

const judgeMessages = ({ violated }: Trial, { events, marked }: Messages) => {
  if (events() === 0) violated("secrets", "no message of the broker was heard")
  for (const text of marked) violated("secrets", `the broker has carried ${text}`)
}

const judgeSecrets = ({ tried, violated }: Trial, nodes: ReadonlyArray<TrialNode>) => {
  for (const { name, node } of nodes) {
    const lines = node.output().split("\n")
    tried("secrets", lines.length)
    for (const line of lines) if (line.includes(mark)) violated("secrets", `${name}: ${line.slice(0, 300)}`)
  }
}
