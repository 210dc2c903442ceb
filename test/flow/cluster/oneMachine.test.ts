/** Several nodes of one machine under a supervisor: whatever ends, it comes back, and no accepted work is lost. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Api, api, apiOf } from "../../support/api.js"
import { makeCluster, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"
import { isSameProcess, treeOf } from "../../support/processes.js"
import { proofs } from "../../support/proofs.js"
import {
  makeDataDirectory,
  postgresPid,
  prepareCompiled,
  prepareData,
  type Service,
  startService
} from "../../support/Service.js"
import { commandLineOf, descendantOf, killProcess, nodeOf, nodesOf } from "../../support/supervised.js"
import { promptConnectEnv } from "../../support/connectTimeout.js"

const place = makeDataDirectory()
let service: Service
let client: Api
let echo: string
let later: string

const start = async () => {
  service = startService({ dataDir: place.dataDir, env: promptConnectEnv, command: ["start", "--nodes", "2"] })
  await service.ready
  client = api(place.dataDir)
}

beforeAll(async () => {
  await prepareData(place.dataDir)
  await start()
  echo = await client.workflow("echo", "instant", "export default async (ctx) => ctx.input.n")
  later = await client.workflow(
    "later",
    "standard",
    "export default async (ctx) => { await new Promise((done) => setTimeout(done, 300)); return ctx.input.n }"
  )
})
afterAll(() => place.remove())

const sleep = (millis: number) => new Promise((done) => setTimeout(done, millis))

const names = () => nodesOf(service.pid).map(({ name }) => name)

/** Waits until the process of this name is another one, and takes part. */
const isBack = (name: string, before: number) =>
  eventually(
    async () => service.output().split("\n"),
    (lines) =>
      nodesOf(service.pid).some((node) => node.name === name && node.pid !== before) &&
      lines.filter((line) => line.includes(`"node":"${name}"`) && line.includes('"node.ready"')).length > 1
  )

/** Starts runs until it is stopped; `stop` gives the ids of those that were accepted, with their inputs. */
const load = () => {
  const accepted = new Map<string, number>()
  const stopping = new AbortController()
  let n = 0
  const clients = Array.from({ length: 4 }, async () => {
    while (!stopping.signal.aborted) {
      const input = n++
      const answer = await client.run(later, { n: input }).catch(() => undefined)
      if (answer?.status === 202) accepted.set(answer.body.executionId, input)
      await sleep(answer?.status === 202 ? 30 : 100)
    }
  })
  return {
    count: () => accepted.size,
    stop: async () => {
      stopping.abort()
      await Promise.all(clients)
      return accepted
    }
  }
}

const assertAllEnd = async (accepted: ReadonlyMap<string, number>) => {
  for (const [id, n] of accepted) {
    const { output, status } = await client.ended(id, 30_000)
    assert.deepStrictEqual([status, output], ["completed", n], id)
  }
}

describe("svc start --nodes 2", () => {
  it("runs two runners and an api node, and serves what one process serves", async () => {
    assert.deepStrictEqual(names(), ["api-1", "runner-1", "runner-2"])
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => client.run(echo, { n })))
    for (const [n, answer] of answers.entries()) assert.deepStrictEqual([answer.status, answer.body], [200, n])
    const example = await client.run(client.dev.exampleWorkflowId, { name: "you" })
    assert.strictEqual(example.body.greeting, "Hello, you!")
    const { body } = await client.call("GET", "/api/v1/cluster")
    const runners = body.data.nodes.filter(({ role }: { role: string }) => role === "runner")
    assert.deepStrictEqual(
      runners.map(({ state }: { state: string }) => state),
      ["alive", "alive"]
    )
  })

  it("names the node in each of its lines, and shows secrets neither there nor on a command line", () => {
    const lines = service
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line))
    assert.sameMembers(
      lines.filter(({ message }) => message === "node.ready").map(({ node }) => node),
      ["api-1", "runner-1", "runner-2"]
    )
    const text = (...name: ReadonlyArray<string>) => fs.readFileSync(path.join(place.dataDir, ...name), "utf8").trim()
    const access: Record<string, string> = JSON.parse(text("postgres", "cluster", "access.json"))
    const secrets = [text("master.keys"), text("key.pepper"), text("cluster.secret"), ...Object.values(access)]
    assert.isAtLeast(secrets.length, 8)
    const shown = [service.output(), ...treeOf(service.pid).flatMap(({ pid }) => commandLineOf(pid))].join("\n")
    for (const secret of secrets) assert.notInclude(shown, secret)
    assert.strictEqual(fs.statSync(path.join(place.dataDir, "cluster.secret")).mode & 0o777, 0o600)
    assert.strictEqual(fs.statSync(path.join(place.dataDir, "supervisor.sock")).mode & 0o777, 0o600)
  })
})

describe("under load", () => {
  it("each process that is killed comes back, and every accepted run ends once", async () => {
    announce(/"node\.ended"/, { required: true })
    announce(/"cluster\.node_gone"|"cluster\.seat_lost"|RunnerUnavailable|socket/i)
    announce(/"sandbox\.runner_(?:died|ended)"|"run\.orphaned"|sandbox/)
    const work = load()
    await eventually(
      async () => work.count(),
      (n) => n > 10
    )
    const guest = descendantOf(nodeOf(service.pid, "runner-2").pid, "svc-runner")
    killProcess(guest)
    await sleep(300)
    for (const name of ["runner-1", "api-1"]) {
      const node = nodeOf(service.pid, name)
      killProcess(node)
      await isBack(name, node.pid)
      const before = work.count()
      await eventually(
        async () => work.count(),
        (n) => n > before + 10
      )
    }
    await assertAllEnd(await work.stop())
    assert.deepStrictEqual(names(), ["api-1", "runner-1", "runner-2"])
  })

  it("Postgres that is killed comes back as well", async () => {
    announce(/"postgres\.ended"/, { required: true })
    // Who asks meanwhile logs a failure, and tries again.
    announce(/"background_task\.failed"|"audit\.seal_failed"|"cluster\.(?:seat_lost|node_gone)"|"request\.failed"/)
    const work = load()
    await eventually(
      async () => work.count(),
      (n) => n > 10
    )
    const postgres = postgresPid(place.dataDir)
    process.kill(postgres, "SIGKILL")
    // The file is gone for a moment.
    const current = async () => postgresPid(place.dataDir)
    await eventually(
      () => current().catch(() => postgres),
      (pid) => pid !== postgres
    )
    const before = work.count()
    await eventually(
      async () => work.count(),
      (n) => n > before + 10
    )
    await assertAllEnd(await work.stop())
  })

  it("svc restart replaces all nodes, and no request is refused", async () => {
    announce(/"cluster\.node_gone"/)
    const before = nodesOf(service.pid)
    const stopping = new AbortController()
    let answered = 0
    const clients = Array.from({ length: 6 }, async (_, at) => {
      for (let n = at; !stopping.signal.aborted; n += 6) {
        const { body, status } = await client.run(echo, { n })
        assert.deepStrictEqual([status, body], [200, n])
        answered += 1
        await sleep(10)
      }
    })
    const failed = Promise.all(clients)
    failed.catch(() => {})
    const restart = startService({ dataDir: place.dataDir, command: ["restart"] })
    assert.strictEqual(await restart.ended, 0, restart.output())
    assert.strictEqual(restart.output(), "api-1 is replaced.\nrunner-1 is replaced.\nrunner-2 is replaced.\n")
    await sleep(300)
    stopping.abort()
    await failed
    assert.isAbove(answered, 50)
    const after = nodesOf(service.pid)
    assert.deepStrictEqual(
      after.map(({ name }) => name),
      before.map(({ name }) => name)
    )
    assert.isEmpty(after.filter(({ pid }) => before.some((node) => node.pid === pid)))
    assert.isEmpty(before.filter(isSameProcess))
  })
})

describe("a supervisor", () => {
  it("that is killed leaves no node, and the next start goes on with its data", async () => {
    const { body } = await client.run(later, { n: 7 })
    const processes = nodesOf(service.pid).flatMap(({ pid }) => treeOf(pid))
    service.kill("SIGKILL")
    await service.ended
    await eventually(
      async () => processes.filter(isSameProcess),
      (left) => left.length === 0
    )
    await start()
    const { output, status } = await client.ended(body.executionId)
    assert.deepStrictEqual([status, output], ["completed", 7])
    assert.strictEqual((await client.run(echo, { n: 8 })).body, 8)
  })

  it("is the only one on its data directory, and ends in order", async () => {
    const second = startService({ dataDir: place.dataDir, command: ["start", "--nodes", "1"] })
    assert.strictEqual(await second.ended, 1)
    assert.match(second.output(), /^svc already runs nodes on [^\n]+\n$/)
    await proofs(service)
    assert.strictEqual(await service.ended, 0)
    const stops = service
      .output()
      .split("\n")
      .filter((line) => line.includes('"service.stopped"'))
      .map((line) => JSON.parse(line).node)
    assert.strictEqual(stops[0], "api-1")
    assert.sameMembers(stops.slice(1, 3), ["runner-1", "runner-2"])
    assert.isUndefined(stops[3])
    assert.isFalse(fs.existsSync(path.join(place.dataDir, "supervisor.sock")))
  })
})

describe("a start with --nodes that cannot be", () => {
  const refused = async (words: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
    const empty = makeDataDirectory()
    const tried = startService({ dataDir: empty.dataDir, command: words, env })
    assert.strictEqual(await tried.ended, 1, tried.output())
    assert.isFalse(fs.existsSync(path.join(empty.dataDir, "postgres")), "nothing is half started")
    empty.remove()
    return tried.output()
  }

  it("says what a number of nodes is, in one sentence", async () => {
    for (const text of ["0", "65", "two", "-1", "1.5"])
      assert.strictEqual(
        await refused(["start", "--nodes", text]),
        `--nodes takes a number of runner nodes from 1 to 64, or auto, and not "${text}".\n`
      )
  })

  it("says that roles are given by --nodes", async () => {
    assert.match(
      await refused(["start", "--role", "api", "--nodes", "2"]),
      /^Start with --role or with --nodes: [^\n]+\n$/
    )
  })

  it("says of svc restart how to start several nodes", async () => {
    assert.match(await refused(["restart"]), /^No svc with several nodes runs on [^\n]+\n$/)
  })
})

describe("on an operator's Postgres", () => {
  const own = makeDataDirectory()
  let cluster: TestCluster
  beforeAll(async () => {
    cluster = await makeCluster()
    await prepareCompiled(own.dataDir)
  })
  afterAll(async () => {
    await cluster.end()
    own.remove()
  })

  it("svc start --nodes is refused with both figures if that accepts too few connections", async () => {
    const limit = (most: number) => cluster.sql(`ALTER DATABASE "${cluster.database.name}" CONNECTION LIMIT ${most}`)
    await limit(40)
    const tried = startService({ dataDir: own.dataDir, env: cluster.env, command: ["start", "--nodes", "2"] })
    assert.strictEqual(await tried.ended, 1)
    assert.match(
      tried.output(),
      /^Postgres accepts 40 connections, and 2 runner and 1 api nodes need \d+: raise max_connections, or start fewer nodes\.$/m
    )
    assert.notInclude(tried.output(), "node.ready")
    await limit(-1)
  })

  it("svc start --nodes serves, also when nobody reads its output any more, and ends with 0", async () => {
    const nodes = startService({ dataDir: own.dataDir, env: cluster.env, command: ["start", "--nodes", "1"] })
    await nodes.ready
    const baseUrl = /"service\.ready".*?"url":"([^"]+)"/.exec(nodes.output())?.[1] ?? ""
    const caller = apiOf({ baseUrl, apiKey: cluster.apiKey } as Api["dev"])
    const workflow = await caller.workflow("own", "instant", "export default async (ctx) => ctx.input.n")
    assert.strictEqual((await caller.run(workflow, { n: 3 })).body, 3)
    // A node's end and start are logged.
    nodes.stopReading()
    const before = nodeOf(nodes.pid, "runner-1")
    killProcess(before)
    const isBack = async () =>
      nodesOf(nodes.pid).some(({ name, pid }) => name === "runner-1" && pid !== before.pid) &&
      (await caller.run(workflow, { n: 4 })).body === 4
    await eventually(isBack, Boolean)
    // As a terminal that is closed does.
    const processes = treeOf(nodes.pid)
    nodes.kill("SIGHUP")
    assert.strictEqual(await nodes.ended, 0, nodes.output())
    assert.deepStrictEqual(processes.filter(isSameProcess), [])
  })
})
