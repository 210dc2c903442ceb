/** What a running workflow reads of its organisation: secrets and per-environment configuration. */
import type { Effect, Option, Redacted } from "effect"
import { Context } from "effect"
import type { CustomerId, InstallationId, OrganisationId, SecretId, SpaceId, WorkflowId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"
import type { JournalUnavailable } from "./Journal.js"

/** Who reads: values are resolved for the most specific of these. */
export interface Reader {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly workflowId: WorkflowId
  readonly customerId: CustomerId | null
  /** Its integration has values of its own. */
  readonly installationId: InstallationId | null
  readonly environment: string
}

/** Names a secret's value without telling it: this is what a journal keeps. */
export interface SecretReference {
  readonly secretId: SecretId
  readonly number: number
}

export interface SecretValue extends SecretReference {
  readonly type: "text" | "json"
  readonly value: Redacted.Redacted
}

export class RunReads extends Context.Tag("svc/RunReads")<
  RunReads,
  {
    /** Most specific first: customer and environment, customer, environment, organisation. */
    readonly secret: (reader: Reader, name: string) => Effect.Effect<Option.Option<SecretValue>, JournalUnavailable>
    /** The value that a journal names, though the secret was changed or deleted since. */
    readonly secretAt: (
      organisation: OrganisationId,
      reference: SecretReference
    ) => Effect.Effect<Option.Option<SecretValue>, JournalUnavailable>
    /** The value of `env.KEY` from the configuration hierarchy. */
    readonly setting: (reader: Reader, key: string) => Effect.Effect<Option.Option<Json>, JournalUnavailable>
  }
>() {}
