/** Makes ids, seeds and secrets. */
import { Context } from "effect"
import type { IdPrefix } from "../../domain/Ids.js"

export class Identifiers extends Context.Tag("svc/Identifiers")<Identifiers, {
  /** A fresh id with a ULID body; later ones sort after earlier ones of the same process. */
  readonly next: (prefix: IdPrefix) => string
  /** A fresh workflow id. */
  readonly workflow: () => string
  /** `length` characters of the base64url alphabet from a cryptographic source. */
  readonly token: (length: number) => string
  readonly bytes: (length: number) => Uint8Array
}>() {}
