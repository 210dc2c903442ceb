/** Makes ids, seeds and secrets. */
import { Context } from "effect"
import type { IdOf, IdPrefix, WorkflowId } from "../../domain/Ids.js"

export class Identifiers extends Context.Tag("svc/Identifiers")<
  Identifiers,
  {
    /** A fresh id with a ULID body; later ones sort after earlier ones of the same process. */
    readonly next: <P extends IdPrefix>(prefix: P) => IdOf[P]
    /** A fresh workflow id. */
    readonly workflow: () => WorkflowId
    /**
     * A secret of 256 random bits in 43 characters of the base64url alphabet: nobody guesses it, so that tries need no limit of
     * their own. All that lets somebody in has one.
     */
    readonly secret: () => string
    /** `length` characters of the base64url alphabet from a cryptographic source. */
    readonly token: (length: number) => string
    readonly bytes: (length: number) => Uint8Array
  }
>() {}
