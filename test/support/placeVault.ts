/** A vault whose sealed values are the plain ones with their place, and which opens a value in its own place only. */
import { Effect, Redacted } from "effect"
import { Vault, VaultRefused } from "../../src/actors/ports/Vault.js"

/** `place`: organisation, table, column and row. */
export const sealedAt = (place: ReadonlyArray<string>, secret: string) =>
  new TextEncoder().encode([...place, secret].join("|"))

export const placeVault = Vault.of({
  cached: () => undefined,
  seal: ({ column, organisation, row, table }, secret) =>
    Effect.succeed(sealedAt([organisation, table, column, row], Redacted.value(secret))),
  of: () => Effect.dieMessage("of"),
  opener: () => Effect.dieMessage("opener"),
  open: (place, value) => {
    const text = new TextDecoder().decode(value)
    const prefix = `${place.organisation}|${place.table}|${place.column}|${place.row}|`
    return text.startsWith(prefix)
      ? Effect.succeed(Redacted.make(text.slice(prefix.length)))
      : Effect.fail(new VaultRefused({ place, reason: "another place" }))
  }
})
