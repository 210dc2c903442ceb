/**
 * A data directory of an earlier release is upgraded by a start of this one, with every kind of record in use: nothing is
 * lost, what waited goes on, and the audit trail verifies.
 */
import { afterAll, assert, it } from "@effect/vitest"
import { api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { announce } from "../support/LogExpectations.js"
import { makeEarlier } from "../support/earlierDatabase.js"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { startProvider } from "../support/provider.js"
import { makeDataDirectory, prepareData, startService } from "../support/Service.js"
import { startSmtpServer } from "../support/smtpServer.js"
import { checkUsed, furnish, makeOutside, notifiedAddresses } from "../support/usedData.js"
import { scaled } from "../support/slowness.js"

const { dataDir, remove } = makeDataDirectory()
afterAll(remove)

/** Of the release before values of `svc.state` were sealed, addresses confirmed and events counted. */
const lastMigration = 28

/** That release stored values of `svc.state` in clear. The next tick is due soon, so that the test need not wait a minute. */
const earlierForm = [
  "ALTER TABLE key_values DROP CONSTRAINT key_values_stored",
  `UPDATE key_values SET value = CASE key WHEN 'text' THEN '"kept in the state"' WHEN 'object' THEN '{"a":[1]}'
     WHEN 'count' THEN '7' ELSE '1' END::json`,
  `UPDATE trigger_states SET next_fire_at = now() + interval '10 seconds'
     WHERE next_fire_at < now() + interval '2 minutes'`,
  // A name that a later release reserved.
  "UPDATE workflows SET name = 'Sessions' WHERE name = 'echo'"
]

/** Tables in which the earlier release has rows. */
const inUse =
  `api_keys audit_entries audit_heads connections connectors connector_versions credentials customers data_keys
  dead_letters deliveries delivery_attempts deployments event_records executions journal key_values notifications
  organisations replays runs secrets secret_versions settings start_queue steps trigger_states triggers webhook_endpoints
  workflows workflow_versions workspaces`.split(/\s+/)

/** The owner of the address is asked to confirm it. */
const isAsked = (messages: ReadonlyArray<string>, address: string) =>
  messages.some((text) => text.toLowerCase().includes(`to: ${address}\r\n`) && text.includes("Confirm this address"))

it(
  "data of an earlier release, all of it in use, is upgraded and goes on",
  async () => {
    const outside = makeOutside()
    const systems = await startProvider((request, response) => {
      const [status, body] = outside.answer(request)
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    })
    const mailbox = await startSmtpServer(["svc", "pw"])
    const env = {
      SVC_EGRESS_ALLOW: "127.0.0.1/32",
      SVC_SMTP_URL: `smtp://svc:pw@127.0.0.1:${mailbox.port}?from=svc@example.com&security=none`
    }
    await prepareData(dataDir)
    const before = startService({ dataDir, env })
    await before.ready
    const used = await furnish(api(dataDir), systems)
    before.kill("SIGTERM")
    await before.ended
    const copied = await makeEarlier(dataDir, lastMigration, earlierForm)
    assert.deepStrictEqual(
      inUse.filter((table) => (copied[table] ?? 0) === 0),
      []
    )

    announce(/"workflow\.name_reserved".*"name":"Sessions"/, { required: true })
    const service = startService({ dataDir, env })
    await service.ready
    const client = api(dataDir)
    const database = await connectEmbedded(dataDir)
    try {
      const addresses =
        "SELECT address FROM mail_addresses WHERE confirmed_at IS NULL AND usable_until > now() ORDER BY 1"
      assert.deepStrictEqual(
        (await database.query<{ readonly address: string }>(addresses)).rows.map(({ address }) => address),
        notifiedAddresses.toSorted()
      )
      await eventually(
        async () => notifiedAddresses.filter((address) => !isAsked(mailbox.messages, address)),
        (unasked) => unasked.length === 0
      )
      await checkUsed(client, outside, used)
      await eventually(
        async () => (await database.query("SELECT FROM key_values WHERE value IS NOT NULL")).rowCount,
        (clear) => clear === 0
      )
      await eventually(
        async () => (await client.call("GET", "/api/v1/audit/verify")).body.data,
        ({ ok, unsealed }) => ok && unsealed === 0
      )
      const { unaccounted } = (await client.call("GET", "/api/v1/events/reconciliation")).body.data
      assert.deepStrictEqual(unaccounted, [])
      await eventually(
        async () => (await client.call("GET", "/readyz")).body,
        ({ status }) => status === "ready"
      )
    } finally {
      await database.end()
      service.kill("SIGTERM")
      await service.ended
      await Promise.all([systems.close(), mailbox.close()])
    }
  },
  scaled(300_000)
)
