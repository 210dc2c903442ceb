/** Who an API key is. The answer may be a second old and no older: a revoked key works nowhere after that. */
import type { Effect, Option } from "effect"
import { Context } from "effect"
import type { ApiKey } from "../../domain/ApiKey.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { Organisation } from "../../domain/Organisation.js"

export interface KnownKey {
  readonly key: ApiKey
  readonly organisation: Pick<
    Organisation,
    "id" | "name" | "plan" | "status" | "defaultEnvironment" | "settings" | "parentId"
  >
  /** The secret that was shown belongs to a rotated key and still counts until `key.beforeUntil`. */
  readonly rotated: boolean
}

export class Keys extends Context.Tag("svc/Keys")<
  Keys,
  {
    /** `hash`: see `Digests.keyHash`. */
    readonly find: (hash: string) => Effect.Effect<Option.Option<KnownKey>, Unavailable>
    /** The same from memory, if it is fresh: spares the hot path an effect. */
    readonly held: (hash: string, now: number) => KnownKey | undefined
    /**
     * Whether a key may have this hash, by the beginnings of all hashes, which are at most a second old: `false` means that
     * no look-up is worth it.
     */
    readonly mayExist: (hash: string) => Effect.Effect<boolean, Unavailable>
    /** Notes that a key was used; written now and then. */
    readonly used: (key: ApiKey, now: number) => void
    /** The secret with which callers of this key sign their identity. */
    readonly identitySecret: (organisation: OrganisationId, key: ApiKey) => Effect.Effect<string, Unavailable>
  }
>() {}
