/** Reads connectors: the organisation's own first, then the built-in ones. Results are at most one second old. */
import { type Effect, type Option, type Redacted, Context } from "effect"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"

/** The organisation's client at a provider. */
export interface OAuthClient {
  /** Of the auth provider. */
  readonly id: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted | null
  readonly scopes: ReadonlyArray<string>
}

export class Connectors extends Context.Tag("svc/Connectors")<
  Connectors,
  {
    /**
     * The published version with this number, or the newest one. Of a built-in connector always the version in this
     * program.
     */
    readonly find: (
      organisation: OrganisationId,
      slug: string,
      version?: string
    ) => Effect.Effect<Option.Option<ConnectorDefinition>, Unavailable>
    /** Slugs to suggest for a mistyped one: the built-in connectors' and up to 500 of the organisation's own. */
    readonly slugs: (organisation: OrganisationId) => Effect.Effect<ReadonlyArray<string>, Unavailable>
    /** The newest published version, not from the cache, to freeze it in a workflow's version. */
    readonly findLatest: (
      organisation: OrganisationId,
      slug: string
    ) => Effect.Effect<Option.Option<ConnectorDefinition>, Unavailable>
    /**
     * The newest version of the connector in which the action has that version. `None` if there is none, or if it is
     * neither bound by the calling workflow nor one of the newest, which stay callable.
     */
    readonly withAction: (
      organisation: OrganisationId,
      slug: string,
      action: { readonly name: string; readonly version: number; readonly bound: boolean }
    ) => Effect.Effect<Option.Option<ConnectorDefinition>, Unavailable>
    /** `provider`: the id of an auth provider; `null` for the default one. */
    readonly clientOf: (
      organisation: OrganisationId,
      slug: string,
      methodId: string,
      provider: string | null
    ) => Effect.Effect<Option.Option<OAuthClient>, Unavailable>
  }
>() {}
