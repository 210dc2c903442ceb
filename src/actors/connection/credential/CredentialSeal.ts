/** Seals and opens the credentials that are stored with connections, each bound to its own row and number. */
import { Effect, Option, Redacted } from "effect"
import {
  type Credential,
  credentialOf,
  credentialText,
  credentialFingerprint,
  credentialLifetime,
  credentialMembers
} from "../../../domain/connection/Credential.js"
import type { CredentialId } from "../../../domain/Ids.js"
import type { CredentialRow, OwnedConnection, SealedCredential } from "../../ports/connection/ConnectionStore.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { type OrganisationVault, Vault } from "../../ports/Vault.js"
import type { CommandRefusal } from "../Protocol.js"
import { busy } from "../ConnectionOwner.js"

/** Associated data of a sealed credential: it can be opened in its own row and under its own number only. */
const sealPlace = (id: CredentialId, number: number) => ({
  table: "credentials",
  column: "sealed",
  row: `${id}/${number}`
})

/** Seals a credential for the row and the number that it is to have. */
export const sealNumbered = (
  doors: Pick<OrganisationVault, "seal">,
  { id, number }: { readonly id: CredentialId; readonly number: number },
  value: Credential
): Uint8Array => doors.seal(sealPlace(id, number), Redacted.value(credentialText(value)))

/** Seals and opens credentials by the vaults of their organisations. */
export const makeCredentialSeal = Effect.gen(function* () {
  const vault = yield* Vault
  const identifiers = yield* Identifiers
  const digests = yield* Digests

  /** The vault of the organisation; fails with `Busy` while it cannot be opened. */
  const vaultOf = (organisation: string) =>
    Effect.mapError(vault.of(organisation), () => busy("the vault cannot be opened", 5))

  /** A sealed credential in the clear. */
  const openSealed = Effect.fnUntraced(function* (organisation: string, { id, number, sealed }: SealedCredential) {
    const doors = yield* vaultOf(organisation)
    const text = yield* Effect.try({
      try: () => Redacted.make(Buffer.from(doors.open(sealPlace(id, number), sealed)).toString("utf8")),
      catch: () => busy("the stored credential does not open", 60)
    })
    const credential = credentialOf(text)
    return Option.isSome(credential) ? credential.value : yield* busy("the stored credential is damaged", 60)
  })

  /** The stored connection with its credential in the clear. */
  const openStored = Effect.fnUntraced(function* (stored: OwnedConnection) {
    const { connection, intent, revision } = stored
    if (stored.credential === null) return { connection, intent, revision, credential: null, plain: null }
    const { id, number } = stored.credential
    const plain = yield* openSealed(connection.organisationId, stored.credential)
    return { connection, intent, revision, credential: { id, number }, plain }
  })

  /** Seals a credential under the number after the one before. */
  const sealCredential = Effect.fnUntraced(function* (
    organisation: string,
    before: { readonly id: CredentialId; readonly number: number } | null,
    { rotated, value }: { readonly value: Credential; readonly rotated: boolean }
  ): Effect.fn.Return<CredentialRow, CommandRefusal> {
    const doors = yield* vaultOf(organisation)
    const id = before?.id ?? identifiers.next("cred")
    const number = (before?.number ?? 0) + 1
    const { expiresAt } = credentialLifetime(value)
    return {
      id,
      number,
      rotated,
      sealed: sealNumbered(doors, { id, number }, value),
      members: credentialMembers(value),
      fingerprint: credentialFingerprint(value, digests.sha256Hex),
      expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString()
    }
  })

  return { vaultOf, openSealed, openStored, sealCredential }
})
