/** Makes access keys of webhooks. */
import { Effect } from "effect"
import type { StoredAccessKey } from "../../../domain/trigger/TriggerChanges.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"

/** Characters of the random part of an access key, and of the prefix that is shown. */
const keyLength = 32
const shownLength = 8

/** Makes the function that makes one: its text, which is shown once, and what is stored of it. */
export const makeAccessKeys = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  return (): { readonly text: string; readonly stored: StoredAccessKey } => {
    const text = `wak_${identifiers.token(keyLength)}`
    return { text, stored: { hash: digests.keyHash(text), prefix: text.slice(0, shownLength) } }
  }
})
