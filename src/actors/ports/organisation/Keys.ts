/** Looks up API keys. A result is at most one second old, so that a revoked key stops working within a second. */
import { type Effect, type Option, Context } from "effect"
import type { ApiKey } from "../../../domain/access/ApiKey.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { Organisation } from "../../../domain/organisation/Organisation.js"

/** The key of a presented secret, with what a request needs of its organisation. */
export interface KnownKey {
  readonly key: ApiKey
  readonly organisation: Pick<
    Organisation,
    "id" | "name" | "plan" | "status" | "defaultEnvironment" | "settings" | "parentId"
  >
  /** The request used the previous secret of a rotated key, which is valid until `key.beforeUntil`. */
  readonly rotated: boolean
}

export class Keys extends Context.Tag("svc/Keys")<
  Keys,
  {
    /** `hash`: see `Digests.keyHash`. */
    readonly find: (hash: string) => Effect.Effect<Option.Option<KnownKey>, Unavailable>
    /** The same from the cache, if it is fresh; synchronous, for the hot path. */
    readonly findCached: (hash: string, now: number) => KnownKey | undefined
    /**
     * Whether a key may have this hash, by the prefixes of all hashes, which are at most one second old. `false`: there is
     * no such key.
     */
    readonly mayExist: (hash: string) => Effect.Effect<boolean, Unavailable>
    /** Records that a key was used; written in batches. */
    readonly recordUse: (key: ApiKey, now: number) => void
    /** The secret that signs the identity of the key's callers. */
    readonly identitySecret: (organisation: OrganisationId, key: ApiKey) => Effect.Effect<string, Unavailable>
  }
>() {}
