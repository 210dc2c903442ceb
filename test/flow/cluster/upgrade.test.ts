/**
 * Two real builds replace each other node by node under load, and back: no accepted call fails, no run waits for an engine,
 * every tick fires once, and a watch tells of every end. The builds are this tree, and this tree with the next number, an
 * engine of its own, a further migration, a further member of a message and a further value of an enumeration.
 * `npm run test:upgrade` goes on for longer, and tells what calls took before and during the upgrade.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { setTimeout as sleep } from "node:timers/promises"
import { type ClusterNode, makeCluster, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"
import { buildRelease, type Release } from "../../support/release.js"
import { makeDataDirectory, prepareCompiled, startService } from "../../support/Service.js"
import { makeTickSchedules } from "../../support/tickSchedules.js"
import { type Balancer, startBalancer } from "../../support/upgrade/Balancer.js"
import { latencyLines } from "../../support/upgrade/Figures.js"
import { startUpgradeLoad } from "../../support/upgrade/Load.js"
import { startProvider } from "../../support/upgrade/Provider.js"
import { startWatching } from "../../support/upgrade/Watching.js"
import { assertOneRun, countRuns, drained, makeWebhook } from "../../support/webhooks.js"
import { scaled } from "../../support/slowness.js"
import { isLong } from "../../support/longForm.js"

/** How long the load goes on before the upgrade and between its steps, in milliseconds. */
const calmMillis = isLong ? 20_000 : 1_000
/** How long the load goes on before it counts: V8 compiles what runs often. */
const warmMillis = isLong ? 15_000 : 1_000
/** Schedules of a minute, whose ticks are spread over it. */
const schedules = 60
/** Where a trigger type stands in the next release. */
const laterType = "handover"

const expansion = "9001_expand"
/** Only the next release can do without the column. */
const contraction = "9002_contract"

const place = makeDataDirectory()
let cluster: TestCluster
/** The next release, and the one after it. */
let next: Release
let distant: Release
let front: ClusterNode
const nodes: Array<ClusterNode> = []

beforeAll(async () => {
  next = await buildRelease("next", {
    number: 2,
    migrations: [
      { name: expansion, oldestBeside: 1, statement: "ALTER TABLE executions ADD COLUMN of_next_release text" },
      { name: contraction, oldestBeside: 2, statement: "ALTER TABLE executions DROP COLUMN of_next_release" }
    ],
    extendsMessages: true,
    triggerType: laterType
  })
  distant = await buildRelease("distant", {
    number: 3,
    migrations: [{ name: contraction, oldestBeside: 2, statement: "SELECT 1" }]
  })
  await prepareCompiled(place.dataDir)
  cluster = await makeCluster()
  next.carryBuilt()
  distant.carryBuilt()
  for (const role of ["runner", "runner", "api", "api"]) nodes.push(await cluster.start({ env: { SVC_ROLE: role } }))
  front = nodes[2] ?? assert.fail()
  await cluster.whole(2)
})
afterAll(async () => {
  await cluster.end()
  next.remove()
  distant.remove()
  place.remove()
})

const command = async (release: string | undefined, words: ReadonlyArray<string>, env = cluster.env) => {
  const one = startService({
    dataDir: place.dataDir,
    env,
    command: words,
    ...(release === undefined ? {} : { release })
  })
  return { code: await one.ended, output: one.output() }
}

const asNode = ["start", "--role", "runner"]

const status = async (client = front.client) => (await client.call("GET", "/api/v1/cluster")).body.data

const engineOf = async (release: Release | undefined): Promise<string> => {
  const [{ engine } = { engine: "" }] = await cluster.sql<{ engine: string }>(
    "SELECT engines[1] AS engine FROM nodes WHERE release = $1 LIMIT 1",
    [release === undefined ? 1 : 2]
  )
  return engine
}

const migratedBeyond = async (number: number) => {
  const text = "SELECT name FROM svc_migrations WHERE migration_id > $1 ORDER BY migration_id"
  return (await cluster.sql<{ name: string }>(text, [number])).map(({ name }) => name)
}

/** What one node took to be ready, and its predecessor to be gone, in milliseconds. */
interface Replacement {
  readonly ready: number
  readonly gone: number
}

/** Replaces each node, runners first: its successor takes part, then it stops. */
const replaceAll = async (release: string | undefined, balancer: Balancer): Promise<ReadonlyArray<Replacement>> => {
  const replacements: Array<Replacement> = []
  for (const [at, node] of nodes.entries()) {
    const began = Date.now()
    const successor = await cluster.start({
      env: { SVC_ROLE: node.role },
      ...(release === undefined ? {} : { release })
    })
    nodes[at] = successor
    balancer.serve(nodes.filter(({ role }) => role === "api"))
    node.kill("SIGTERM")
    const stopped = Date.now()
    assert.strictEqual(await node.ended, 0, node.output().slice(-2_000))
    replacements.push({ ready: stopped - began, gone: Date.now() - stopped })
  }
  front = nodes[2] ?? assert.fail()
  return replacements
}

const triggerTypes = async () =>
  (await cluster.sql<{ type: string }>("SELECT DISTINCT record->'trigger'->>'type' AS type FROM executions")).map(
    ({ type }) => type
  )

describe("two neighbouring releases", () => {
  it(
    "replace each other node by node under load, and back, and no accepted call fails",
    async () => {
      announce(/"cluster\.node_gone"/)
      const client = front.client
      const provider = await startProvider()
      const instant = await client.workflow("instant", "instant", "export default async (ctx) => ctx.input.n")
      const standard = await client.workflow(
        "standard",
        "standard",
        `export default async (ctx) => {
        const { n } = ctx.input
        for (const call of [1, 2, 3]) await fetch("${provider.url}/" + n + "/" + call, { method: "POST", body: "{}" })
        return [n, typeof release === "undefined" ? "this" : release]
      }`
      )
      const tick = await client.workflow("tick", "instant", "export default async (ctx) => ctx.event.id")
      const hook = await makeWebhook(client, [{ workflowId: instant }])
      const before = await engineOf(undefined)
      const balancer = await startBalancer(
        nodes.filter(({ role }) => role === "api"),
        cluster.apiKey
      )
      const watching = await startWatching(balancer.url, cluster.apiKey)
      const ticks = await makeTickSchedules(client, cluster.sql, { flow: tick, schedules, missed: 1 })
      const load = startUpgradeLoad({
        balancer,
        client: watching.client,
        instant,
        standard,
        isResult: (n, output) => JSON.stringify(output) === JSON.stringify([n, "this"]),
        webhook: hook.path
      })
      await sleep(warmMillis)
      load.enter("before")
      await sleep(calmMillis)

      load.enter("during")
      const there = await replaceAll(next.program, balancer)
      load.enter("between")
      const shown = await status()
      assert.deepStrictEqual(shown.release, { newest: 2, confirmed: 1, isConfirmed: false })
      assert.deepStrictEqual([shown.waiting, shown.nodes.length], [[], 4])
      for (const node of shown.nodes) assert.strictEqual(node.release, 2)
      assert.deepStrictEqual(await migratedBeyond(9_000), ["expand"])
      await sleep(calmMillis)
      const engines = await eventually(
        () => cluster.sql("SELECT DISTINCT engine FROM runs"),
        (open) => open.length > 0
      )
      assert.deepStrictEqual(engines, [{ engine: before }], "the predecessor's engine")

      load.enter("back")
      const back = await replaceAll(undefined, balancer)
      load.enter("after")
      await sleep(500)
      assert.deepStrictEqual((await status()).release, { newest: 1, confirmed: 1, isConfirmed: true })

      const { accepted, failures, sent, timed } = await load.stop()
      assert.deepStrictEqual(failures, [])
      assert.isAbove(sent, 300)
      const { dead, duplicate, unaccounted } = await drained(front.client)
      await assertOneRun(front.client, accepted.events)
      assert.deepStrictEqual([dead, duplicate, unaccounted], [0, 0, []])
      const runs = await countRuns(front.client, "completed")
      assert.deepStrictEqual(
        accepted.events.filter((id) => runs.get(id) !== 1),
        []
      )
      for (const [id, n] of accepted.runs) {
        const { output, status: ended } = await front.client.ended(id)
        assert.deepStrictEqual([ended, output], ["completed", [n, "this"]])
      }
      const ofCalls = [...accepted.runs, ...accepted.rpcRuns]
      const called = ofCalls.filter(([, n]) => [1, 2, 3].every((call) => provider.calls.has(`/${n}/${call}`)))
      assert.lengthOf(called, ofCalls.length)
      assert.deepStrictEqual(await watching.untold(ofCalls.map(([id]) => id)), [], "ends that the watch did not tell")
      assert.notInclude(await triggerTypes(), laterType)
      const [{ now } = { now: new Date() }] = await cluster.sql<{ now: Date }>("SELECT now() AS now")
      await ticks.ended(now)
      assert.deepStrictEqual(await ticks.wrong(now), [])
      if (isLong) {
        for (const { gone, ready } of [...there, ...back])
          console.log(`a node: ready in ${Math.round(ready)} ms, its predecessor gone in ${Math.round(gone)} ms`)
        for (const line of latencyLines(timed, "before", "during")) console.log(line)
      }
      await ticks.remove()
      await watching.close()
      await balancer.close()
      await provider.close()
    },
    scaled(240_000)
  )

  it("are not three: a node two numbers apart is refused, before it migrates, with both releases", async () => {
    const { code, output } = await command(distant.program, asNode)
    assert.strictEqual(code, 1, output)
    assert.match(
      output,
      /^This is release 3 of svc, and a node of release 1 runs on this database \((?:runner at [\d.:]+|api)\)[^\n]+\n$/
    )
    const migrate = await command(distant.program, ["migrate"])
    assert.strictEqual(migrate.code, 1, migrate.output)
    assert.match(
      migrate.output,
      /^Migration 9002_contract needs service release 2 or later, and would break a node of release 1 \([^\n]+\n$/
    )
    assert.deepStrictEqual(await migratedBeyond(9_000), ["expand"])
    const other = await makeCluster()
    const one = await other.start({ env: { SVC_ROLE: "runner" }, release: distant.program })
    const reversed = await command(undefined, asNode, other.env)
    assert.strictEqual(reversed.code, 1, reversed.output)
    assert.match(reversed.output, /^This is release 1 of svc, and a node of release 3 runs on this database \(runner/)
    one.kill("SIGTERM")
    await one.ended
    await other.end()
  })

  it("have no way back once the later one is confirmed, which needs all nodes of it", async () => {
    announce(/"cluster\.node_gone"/)
    const last = await cluster.start({ release: next.program })
    const early = await command(next.program, ["cluster", "confirm"])
    assert.strictEqual(early.code, 1, early.output)
    assert.match(early.output, /^A node of release 1 runs \((?:runner|api)/)
    for (const node of nodes) {
      node.kill("SIGTERM")
      await node.ended
    }
    const shown = await command(next.program, ["cluster", "status"])
    assert.include(shown.output, "Release 2 is not confirmed: the nodes can go back to release 1")
    const confirmed = await command(next.program, ["cluster", "confirm"])
    assert.deepStrictEqual(
      [confirmed.code, confirmed.output],
      [0, "Release 2 is confirmed: there is no way back to release 1.\n# Migrated: contract.\n"]
    )
    const back = await command(undefined, asNode)
    assert.strictEqual(back.code, 1, back.output)
    assert.match(back.output, /^This is release 1 of svc, and release 2 is confirmed on this database[^\n]+\n$/)
    const fresh = await last.client.workflow("fresh", "standard", "export default async () => release")
    const outputOf = async () => {
      const { body } = await last.client.run(fresh)
      return (await last.client.ended(body.executionId)).output
    }
    const until = Date.now() + 10_000
    let output = await outputOf().catch(() => null)
    while (output !== "next" && Date.now() < until) output = await outputOf()
    assert.strictEqual(output, "next", "runs begin on the engine of the confirmed release")
    assert.include(await triggerTypes(), laterType, "and it writes what its predecessor could not read")
  })
})
