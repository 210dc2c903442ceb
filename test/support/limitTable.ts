/** The stored limits of providers in memory; they outlive every owner. */
import { Effect } from "effect"
import { ProviderWindows, type StoredWindow } from "../../src/actors/ports/connection/ProviderWindows.js"
import { unusedState } from "../../src/domain/connection/CallLeases.js"

/** Also counts how often a state was saved. */
export const limitTable = () => {
  const rows = new Map<string, StoredWindow>()
  const counted = { saves: 0 }
  const windows = ProviderWindows.of({
    load: (key) => Effect.sync(() => rows.get(JSON.stringify(key)) ?? { state: unusedState, revision: 0 }),
    save: (of, { revision, state }) =>
      Effect.sync(() => {
        const key = JSON.stringify(of)
        if ((rows.get(key)?.revision ?? 0) !== revision) return false
        counted.saves += 1
        rows.set(key, { state, revision: revision + 1 })
        return true
      })
  })
  return { windows, counted }
}
