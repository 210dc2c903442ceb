/**
 * Cursors of lists of a provider's records. They are sealed, since they hold the provider's own, and bound to connection,
 * query and maps. Contract: unified API; conventions.
 */
import { Clock, Duration, Effect, Either, Encoding } from "effect"
import { InvalidRequest, type Unavailable } from "../../domain/Failure.js"
import { canonicalJson, type JsonObject } from "../../domain/Json.js"
import { cursorLifetime } from "../../domain/Limits.js"
import type { ConnectionId, OrganisationId } from "../../domain/Ids.js"
import { Digests } from "../ports/Digests.js"
import type { RecordQuery, RecordTarget } from "../ports/unified/UnifiedRecords.js"
import { Vault, vaultClosed } from "../ports/Vault.js"
import type { MapPins } from "./OpenEntity.js"

/** Where a list goes on. */
export interface ListPosition {
  /** The number of the variant's plan. */
  readonly variant: number
  /** The arguments of the provider's page; null: its first. */
  readonly args: JsonObject | null
  /** Items of that page that are told already. */
  readonly skip: number
}

/** A cursor's content. */
export interface ListCursor {
  readonly at: number
  readonly query: string
  readonly pins: MapPins
  readonly position: ListPosition
}

/** Characters of the longest cursor. */
const longestCursor = 16 * 1024

const wrongCursor = () =>
  new InvalidRequest({
    code: "INVALID_CURSOR",
    message: "the cursor is wrong, of another query or connection, or older than 24 hours: begin again without it"
  })

/** The refusal of a cursor whose list was begun with maps that are gone. */
export const goneMaps = () =>
  new InvalidRequest({
    code: "INVALID_CURSOR",
    message: "the connector or a field map that this list was begun with is gone: begin again without the cursor"
  })

const place = (connection: ConnectionId) => ({ table: "connections", column: "cursor", row: connection })

export const makeListCursors = Effect.gen(function* () {
  const vault = yield* Vault
  const digests = yield* Digests

  /** What a cursor must agree with: everything but the page's size. The members that are read are in the provider's cursor. */
  const queryOf = ({ model }: RecordTarget, { createdAfter, fields, isRawIncluded, modifiedAfter }: RecordQuery) => {
    const shown = fields === null || isRawIncluded ? null : fields.toSorted()
    return digests.sha256Hex(canonicalJson([model.name, modifiedAfter, createdAfter, shown])).slice(0, 32)
  }

  const vaultOf = (organisation: OrganisationId) => Effect.mapError(vault.of(organisation), vaultClosed)

  const seal = (
    organisation: OrganisationId,
    connection: ConnectionId,
    content: Omit<ListCursor, "at">
  ): Effect.Effect<string, Unavailable> =>
    Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      const own = yield* vaultOf(organisation)
      return Encoding.encodeBase64Url(own.seal(place(connection), JSON.stringify({ ...content, at })))
    })

  const open = (organisation: OrganisationId, connection: ConnectionId, query: string, text: string) =>
    Effect.gen(function* () {
      if (text.length > longestCursor) return yield* wrongCursor()
      const own = yield* vaultOf(organisation)
      const now = yield* Clock.currentTimeMillis
      const opened = yield* Effect.try({
        // The content is this module's own: it was sealed.
        try: (): ListCursor =>
          JSON.parse(
            new TextDecoder().decode(own.open(place(connection), Either.getOrThrow(Encoding.decodeBase64Url(text))))
          ),
        catch: wrongCursor
      })
      return opened.query !== query || now - opened.at > Duration.toMillis(cursorLifetime)
        ? yield* wrongCursor()
        : opened
    })

  return { queryOf, seal, open }
})
