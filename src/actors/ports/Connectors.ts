/** Connectors as others read them: the organisation's own first, then the built-in catalogue. At most a second old. */
import type { Effect, Option, Redacted } from "effect"
import { Context } from "effect"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"

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
     * The newest published version, or the one named. A built-in connector has the one version that this program
     * carries, whichever is named.
     */
    readonly find: (
      organisation: OrganisationId,
      slug: string,
      version?: string
    ) => Effect.Effect<Option.Option<ConnectorDefinition>, Unavailable>
    /** The newest published version at this very moment, for whoever fixes it. */
    readonly current: (
      organisation: OrganisationId,
      slug: string
    ) => Effect.Effect<Option.Option<ConnectorDefinition>, Unavailable>
    /**
     * The newest version of the connector in which the action has that version. None where no version has, or where it
     * is neither bound (by the workflow that calls) nor among the newest that stay callable. Of a built-in connector there
     * are the versions that this program carries.
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
