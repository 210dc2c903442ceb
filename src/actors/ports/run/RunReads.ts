/** What a running workflow reads of its organisation: secrets and per-environment configuration. */
import { type Effect, type Option, type Redacted, Context } from "effect"
import type { CustomerId, InstallationId, OrganisationId, SecretId, SpaceId, WorkflowId } from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import type { JournalUnavailable } from "./Journal.js"

/** The run that reads; the most specific value for it is found. */
export interface Reader {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  /** Null for a reader that is no workflow. */
  readonly workflowId: WorkflowId | null
  readonly customerId: CustomerId | null
  /** The installation, whose integration can have values of its own. */
  readonly installationId: InstallationId | null
  readonly environment: string
}

/** Refers to one version of a secret without its value, for the journal. */
export interface SecretReference {
  readonly secretId: SecretId
  readonly number: number
}

/** A secret's value with the version that the journal refers to. */
export interface SecretValue extends SecretReference {
  readonly type: "text" | "json"
  readonly value: Redacted.Redacted
}

export class RunReads extends Context.Tag("svc/RunReads")<
  RunReads,
  {
    /** Most specific first: customer and environment, customer, environment, organisation. */
    readonly secret: (reader: Reader, name: string) => Effect.Effect<Option.Option<SecretValue>, JournalUnavailable>
    /** The version that a journal refers to, even if the secret was changed or deleted since. */
    readonly secretAt: (
      organisation: OrganisationId,
      reference: SecretReference
    ) => Effect.Effect<Option.Option<SecretValue>, JournalUnavailable>
    /** The value of `env.KEY` from the configuration hierarchy. */
    readonly setting: (reader: Reader, key: string) => Effect.Effect<Option.Option<Json>, JournalUnavailable>
  }
>() {}
