/**
 * Chooses the connection that a call uses: of those that the request or the run allows, the named one, else the customer's
 * default. Contract: header formats.
 */
import { Effect, type Option } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { CustomerId, OrganisationId } from "../../../domain/Ids.js"
import type { ChosenConnection } from "../../../domain/run/RunJournal.js"
import { type CallableConnection, ConnectionReads } from "./ConnectionReads.js"

/** For whom a connection is chosen. */
export interface ConnectionUser {
  readonly organisationId: OrganisationId
  readonly customerId: CustomerId | null
  readonly userId: string | null
  /** The only connections that may be used; `null`: any of the customer. */
  readonly allowed: ReadonlyArray<ChosenConnection> | null
}

/** The connection of a list that a call means: by its alias or id, else the one without an alias. */
const allowedOne = (
  allowed: ReadonlyArray<ChosenConnection>,
  slug: string,
  named: string | null
): ChosenConnection | undefined => {
  const own = allowed.filter(({ connector }) => connector === slug)
  return named === null
    ? (own.find(({ alias }) => alias === null) ?? own[0])
    : own.find(({ alias, id }) => alias === named || id === named)
}

/** Makes the function that chooses a connection to a connector. `named`: a label, an alias or an id. */
export const makeConnectionChoice = Effect.map(
  ConnectionReads,
  (reads) =>
    (
      { allowed, customerId, organisationId, userId }: ConnectionUser,
      slug: string,
      named: string | null
    ): Effect.Effect<Option.Option<CallableConnection>, Unavailable> => {
      const one = allowed === null ? undefined : allowedOne(allowed, slug, named)
      return allowed !== null && one === undefined
        ? Effect.succeedNone
        : reads.find({ organisationId, customerId, userId, slug, named: one?.id ?? named })
    }
)
