/** API keys for tests, each with the scope that it is about. */
import { assert } from "@effect/vitest"
import type { Running } from "./InProcess.js"

export interface KeyScope {
  readonly type: "connector" | "connection" | "workflow" | "widget" | "secret" | "environment"
  readonly ids: ReadonlyArray<string>
}

let keys = 0

/** A live key of the first organisation that may do everything within its scope. */
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
