/** A keyring for tests. */
import { Redacted } from "effect"
import { randomBytes } from "node:crypto"
import type { Keyring } from "../../src/runtime/vault/Keyring.js"

export const keyringOf = (...ids: ReadonlyArray<string>): Keyring => {
  const names = ids.length === 0 ? ["test"] : ids
  return {
    active: names[0] ?? "test",
    keys: new Map(names.map((id) => [id, Redacted.make(new Uint8Array(randomBytes(32)))]))
  }
}
