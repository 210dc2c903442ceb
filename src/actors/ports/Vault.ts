/**
 * Encrypts secrets at rest. Each organisation has a data key, wrapped by a master key that only the process knows. Every
 * sealed value is bound to its table, column and row by its associated data.
 */
import { Unavailable } from "../../domain/Failure.js"
import { operatorText } from "../../domain/OperatorText.js"
import { type Effect, type Redacted, Context, Data } from "effect"

/** The place of a sealed value: its associated data. */
export interface Place {
  readonly organisation: string
  readonly table: string
  readonly column: string
  readonly row: string
}

/** The value cannot be opened: it was moved or altered, or its key is not in the keyring. */
export class VaultRefused extends Data.TaggedError("VaultRefused")<{
  readonly place: Place
  readonly reason: string
}> {
  get [operatorText]() {
    return this.reason
  }
}

/** The answer to a client whose request needs the vault. */
export const vaultClosed = () => new Unavailable({ reason: "the vault cannot be opened", retryAfterSeconds: 5 })

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
    /** The vault of one organisation, with its data key cached. Creates the key on first use. */
    readonly of: (organisation: string) => Effect.Effect<OrganisationVault, VaultRefused>
    /** The same without an effect, for hot paths; `undefined` if the key is not cached now. */
    readonly cached: (organisation: string) => OrganisationVault | undefined
    /** The same, to open only: creates no key, and opens nothing that was sealed under a key which is gone. */
    readonly opener: (organisation: string) => Effect.Effect<Pick<OrganisationVault, "open">, VaultRefused>
  }
>() {}
