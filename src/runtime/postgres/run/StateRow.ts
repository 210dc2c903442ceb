/**
 * The row of a value of `svc.state`: its key in clear, by which it is found, and its value sealed to this key. Only rows of
 * earlier releases have a value in clear, until `StateSealing` has sealed them.
 */
import type { OrganisationVault } from "../../../actors/ports/Vault.js"
import { canonicalJson, type Json } from "../../../domain/Json.js"

/** The primary key of a row. */
export interface StateKey {
  readonly org: string
  readonly space: string
  readonly scope: string
  readonly environment: string
  readonly owner: string
  readonly key: string
}

/** One text for each key. */
export const stateKeyText = ({ environment, key, org, owner, scope, space }: StateKey): string =>
  canonicalJson([org, space, scope, environment, owner, key])

/** Whose data key seals the value: that of the customer whose state it is, which erasure destroys, or the organisation's. */
export const stateKeyOwner = ({ org, owner, scope }: StateKey): string => (scope === "CUSTOMER" ? owner : org)

/** The same as an expression of SQL, on the row `w`. */
export const stateKeyOwnerSql = "CASE w.scope WHEN 'CUSTOMER' THEN w.owner ELSE w.org END"

const placeOf = (key: StateKey) => ({ table: "key_values", column: "sealed", row: stateKeyText(key) }) as const

/** Seals the JSON text of a value. */
export const sealState = (vault: Pick<OrganisationVault, "seal">, key: StateKey, json: string): Buffer =>
  Buffer.from(vault.seal(placeOf(key), json))

/** The stored value; `clear` is that of an earlier release. Throws `VaultRefused`. */
export const readState = (
  vault: Pick<OrganisationVault, "open">,
  key: StateKey,
  { clear, sealed }: { readonly clear: string | null; readonly sealed: Uint8Array | null }
): Json => JSON.parse(sealed === null ? (clear ?? "null") : Buffer.from(vault.open(placeOf(key), sealed)).toString())
