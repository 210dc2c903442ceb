/**
 * Seals what must not be read at rest. Each organisation has a data key, wrapped by a master key that only the
 * process knows; every sealed value is bound to the place it was made for and opens nowhere else.
 */
import { operatorText } from "../../domain/OperatorText.js"
import type { Effect, Redacted } from "effect"
import { Context, Data } from "effect"

/** Where a sealed value lives; part of what is authenticated. */
export interface Place {
  readonly organisation: string
  readonly table: string
  readonly column: string
  readonly row: string
}

/** The value does not open here: moved, altered, or sealed under a key that is not in the keyring. */
export class VaultRefused extends Data.TaggedError("VaultRefused")<{
  readonly place: Place
  readonly reason: string
}> {
  get [operatorText]() {
    return this.reason
  }
}

/** Seals and opens for one organisation without I/O, for hot paths. */
export interface OrganisationVault {
  readonly seal: (place: Omit<Place, "organisation">, plain: string | Uint8Array) => Uint8Array
  /** Throws `VaultRefused`. */
  readonly open: (place: Omit<Place, "organisation">, sealed: Uint8Array) => Uint8Array
}

export class Vault extends Context.Tag("svc/Vault")<
  Vault,
  {
    readonly seal: (place: Place, secret: Redacted.Redacted) => Effect.Effect<Uint8Array, VaultRefused>
    readonly open: (place: Place, sealed: Uint8Array) => Effect.Effect<Redacted.Redacted, VaultRefused>
    /** The organisation's data key, unwrapped once and held; makes the key at first use. */
    readonly of: (organisation: string) => Effect.Effect<OrganisationVault, VaultRefused>
  }
>() {}
