/** A check of readiness that cannot be made is no success, and migrations that are missing are seen by the service's own login. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Running, start } from "../support/InProcess.js"
import { announce } from "../support/LogExpectations.js"

let svc: Running
beforeAll(async () => {
  // Tasks in the background meet the missing rights, too.
  announce(/insufficient_privilege/)
  svc = await start()
})
afterAll(() => svc.stop())

const checks = async () => {
  const { body, status } = await svc.ask("GET", "/readyz")
  return { status, overall: body.status, checks: body.checks }
}

describe("the checks of readiness", () => {
  it("tell of a migration that the database lacks", async () => {
    const [last] = await svc.sql<{ migration_id: number; name: string }>(
      "DELETE FROM svc_migrations WHERE migration_id = (SELECT max(migration_id) FROM svc_migrations) RETURNING *"
    )
    assert.isDefined(last)
    const lacking = await checks()
    assert.strictEqual(lacking.status, 503)
    assert.isFalse(lacking.checks.migrations.ok)
    assert.match(lacking.checks.migrations.missing.join(), new RegExp(`^0*${last?.migration_id}_${last?.name}$`))
    await svc.sql(`INSERT INTO svc_migrations (migration_id, name) VALUES (${last?.migration_id}, '${last?.name}')`)
    assert.deepStrictEqual((await checks()).checks.migrations, { ok: true, missing: [] })
  })

  it.each([
    ["migrations", "svc_migrations", "SELECT"],
    ["engines", "runs", "SELECT"],
    ["tasks", "failed_jobs", "SELECT"],
    ["audit", "audit_entries", "SELECT"]
  ] as const)("make the node degraded, not ready, where %s cannot be read", async (name, table, right) => {
    assert.isTrue((await checks()).checks[name].ok)
    await svc.sql(`REVOKE ${right} ON ${table} FROM svc_writer`)
    try {
      const { checks: found, overall } = await checks()
      assert.isFalse(found[name].ok, JSON.stringify(found[name]))
      assert.isString(found[name].detail)
      assert.strictEqual(overall, "degraded")
    } finally {
      await svc.sql(`GRANT ${right} ON ${table} TO svc_writer`)
    }
  })
})
