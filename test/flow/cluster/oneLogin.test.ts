/** Nodes that reach Postgres by one login for all of svc's roles, which sets its role in each session, as SVC_DATABASE_URL says. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Client } from "pg"
import { processName } from "../../../src/runtime/process/ProcessName.js"
import { urlsOfLogin } from "../../../src/runtime/postgres/database/Roles.js"
import { answersPromptly } from "../../../src/runtime/postgres/database/SlowStatements.js"
import { announceEndedSessions, type ClusterNode, makeCluster, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"

let cluster: TestCluster
let sound: ClusterNode
let frozen: ClusterNode
let login = ""

beforeAll(async () => {
  cluster = await makeCluster()
  // A member of the four roles, and nothing more.
  const name = `login_of_${cluster.database.name}`
  await cluster.sql(`CREATE ROLE ${name} LOGIN PASSWORD 'one'`)
  await cluster.sql(`GRANT svc_owner, svc_writer, svc_app, svc_audit_reader TO ${name}`)
  const url = new URL(Redacted.value(cluster.database.admin))
  url.username = name
  url.password = "one"
  login = url.href
  const others = ["OWNER", "WRITER", "APP", "AUDIT"].map((role) => [`SVC_DATABASE_URL_${role}`, ""])
  const env = { ...Object.fromEntries(others), SVC_DATABASE_URL: login }
  sound = await cluster.start({ env })
  frozen = await cluster.start({ env })
  await cluster.whole(2)
})
afterAll(async () => {
  const name = new URL(login).username
  await cluster.end()
  const client = new Client({
    connectionString: Redacted.value(cluster.database.admin).replace(/\/[^/?]+(\?|$)/, "/postgres$1")
  })
  await client.connect()
  await client.query(`DROP ROLE ${name}`)
  await client.end()
})

describe("a node that hangs", () => {
  it("loses its sessions, and with them its shards, to the others", async () => {
    announce(/"cluster\.(?:seat_lost|node_gone)"/)
    announceEndedSessions()
    frozen.kill("SIGSTOP")
    await cluster.whole(1)
    frozen.kill("SIGCONT")
    await cluster.whole(2)
    const flow = await sound.client.workflow("echo", "instant", "export default async (ctx) => ctx.input.n")
    assert.strictEqual((await sound.client.run(flow, { n: 3 })).body, 3)
  })
})

it("a statement of such a node that Postgres works on for long is seen", async () => {
  const { writer } = urlsOfLogin(Redacted.make(login))
  const session = new Client({ connectionString: Redacted.value(writer), application_name: `svc test ${processName}` })
  await session.connect()
  try {
    assert.isTrue(await Effect.runPromise(answersPromptly(writer)))
    const slow = session.query("SELECT pg_sleep(7)")
    await eventually(
      () => Effect.runPromise(answersPromptly(writer)),
      (isPrompt) => !isPrompt
    )
    await slow
  } finally {
    await session.end()
  }
})
