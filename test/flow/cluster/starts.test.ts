/** A start that cannot become a node of the cluster says what to do, and ends before anything is done. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import { appendFileSync, cpSync, readdirSync } from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { makeCluster, type TestCluster } from "../../support/cluster.js"
import { makeDataDirectory, prepareCompiled, startService } from "../../support/Service.js"

let cluster: TestCluster
const place = makeDataDirectory()

beforeAll(async () => {
  cluster = await makeCluster()
  await cluster.start()
  await prepareCompiled(place.dataDir)
})
afterAll(async () => {
  await cluster.end()
  place.remove()
})

type Variables = Readonly<Record<string, string>>

/** What a start says that ends with exit code 1. */
const refused = async (env: Variables, command: ReadonlyArray<string> = ["start"], release?: string) => {
  const service = startService({
    dataDir: place.dataDir,
    env,
    command,
    ...(release === undefined ? {} : { release })
  })
  assert.strictEqual(await service.ended, 1, service.output())
  return service.output()
}

const without = (...names: ReadonlyArray<string>): Variables =>
  Object.fromEntries(Object.entries(cluster.env).filter(([name]) => !names.includes(name)))

const asNode = ["start", "--role", "all"]

describe("a start as a node", () => {
  it("lists everything that is missing at once", async () => {
    const said = await refused({}, asNode)
    assert.include(said, "SVC_DATABASE_URL is missing")
    assert.include(said, "SVC_CLUSTER_SECRET is missing")
    const secretless = await refused(without("SVC_CLUSTER_SECRET", "SVC_KEY_PEPPER", "SVC_MASTER_KEYS"), asNode)
    for (const name of ["SVC_CLUSTER_SECRET", "SVC_KEY_PEPPER", "SVC_MASTER_KEYS"])
      assert.include(secretless, `${name} is missing`)
  })

  it("refuses values that cannot be meant", async () => {
    assert.match(await refused(cluster.env, ["start", "--role", "worker"]), /SVC_ROLE must be one of all/)
    assert.match(
      await refused({ ...cluster.env, SVC_CLUSTER_SECRET: "short" }, asNode),
      /SVC_CLUSTER_SECRET must be a secret of at least 32 characters/
    )
    for (const address of ["0.0.0.0:4000", "node", "node:0", "node:70000"])
      assert.match(
        await refused({ ...cluster.env, SVC_NODE_ADDRESS: address }, asNode),
        /SVC_NODE_ADDRESS must be an address that other nodes reach, host:port/
      )
  })

  it("refuses another secret than the cluster's", async () => {
    const env = { ...cluster.env, SVC_CLUSTER_SECRET: randomBytes(32).toString("hex") }
    assert.match(
      await refused(env, asNode),
      /SVC_CLUSTER_SECRET is not that of the cluster's nodes \(all at 127\.0\.0\.1:\d+\)/
    )
  })

  it("refuses an address that is taken", async () => {
    const server = net.createServer()
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as net.AddressInfo
    assert.match(
      await refused({ ...cluster.env, SVC_NODE_ADDRESS: `127.0.0.1:${port}` }, asNode),
      new RegExp(`svc cannot listen for other nodes on 127\\.0\\.0\\.1, port ${port}`)
    )
    server.close()
  })

  it("refuses another build, before it migrates", async () => {
    const other = path.join(place.directory, "dist")
    cpSync("dist", other, { recursive: true, filter: (from) => !from.endsWith(".v8") && !from.includes("dist/test") })
    for (const name of readdirSync(other))
      if (/^program-.*\.js$/.test(name)) appendFileSync(path.join(other, name), "\n// another build\n")
    // It would fail if the other build ran it.
    await cluster.sql("DELETE FROM svc_migrations WHERE migration_id = 39")
    assert.match(
      await refused(cluster.env, asNode, path.join(other, "svc.js")),
      /A node of another build runs on this database \(all at 127\.0\.0\.1:\d+\)/
    )
    await cluster.sql("INSERT INTO svc_migrations (migration_id, name) VALUES (39, 'nodes')")
  })
})

describe("a start that is alone", () => {
  it("is refused beside a cluster", async () => {
    assert.match(await refused(cluster.env), /A cluster of svc already runs on this database .*starts with --role/)
  })
})

it("a node is refused beside a service that is alone", async () => {
  const other = await makeCluster()
  const alone = startService({ dataDir: place.dataDir, env: other.env })
  await alone.ready
  assert.match(
    await refused(other.env, asNode),
    /Another svc already runs on this database .*start it with --role as well/
  )
  alone.kill("SIGTERM")
  await alone.ended
  await other.end()
})
