/** Creates API keys for tests, and a second workspace for them. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import type { Running } from "./InProcess.js"

export interface TestKey {
  readonly id: string
  readonly key: string
}

export const makeKey = async (svc: Running, body: object, by = svc.first.key): Promise<TestKey> => {
  const made = await svc.ask("POST", "/api/v1/api-keys", {
    key: by,
    body: { name: "made by a test", mode: "live", preset: "full_access", ...body }
  })
  assert.strictEqual(made.status, 201, made.text)
  return { id: made.body.data.id, key: made.body.data.key }
}

/** A key that is restricted to these resources. */
export const makeScopedKey = (svc: Running, scope: { readonly [type: string]: ReadonlyArray<string> }) =>
  makeKey(svc, { resourceScope: Object.entries(scope).map(([type, ids]) => ({ type, ids })) })

/** A key of another workspace of the organisation. */
export const makeKeyOfOtherWorkspace = async (svc: Running): Promise<TestKey> => {
  const made = await makeKey(svc, {})
  const space = `${svc.first.spaceId.slice(0, -1)}${svc.first.spaceId.endsWith("0") ? "1" : "0"}`
  await svc.run(
    Effect.flatMap(WriterSql, (sql) =>
      Effect.zipRight(
        sql`INSERT INTO workspaces (id, org, name, slug, created_at)
          VALUES (${space}, ${svc.first.organisationId}, 'Elsewhere', 'elsewhere', now()) ON CONFLICT DO NOTHING`,
        sql`UPDATE api_keys SET space = ${space} WHERE id = ${made.id}`
      )
    )
  )
  return made
}

export interface KeyScope {
  readonly type: "connector" | "connection" | "workflow" | "widget" | "secret" | "environment"
  readonly ids: ReadonlyArray<string>
}

let keys = 0

/** A live key of the first organisation with all permissions within its scope. */
export const scopedKey = async (
  svc: Running,
  resourceScope: ReadonlyArray<KeyScope>,
  more: object = {}
): Promise<string> => {
  const body = { name: `scoped ${(keys += 1)}`, mode: "live", preset: "full_access", resourceScope, ...more }
  const made = await svc.ask("POST", "/api/v1/api-keys", { key: svc.first.key, body })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.key
}
