/**
 * Members that the errors of some failures have beside those of all. The rows of `Surface.ts` are held to them by the
 * compiler, and the OpenAPI documents are written from them. Contract: errors.
 */
import { Schema } from "effect"
import type { Failure } from "../domain/Failure.js"
import { Json } from "../domain/Json.js"

/** What is known of the provider's answer: both are null where there was none. */
const provider = Schema.Struct({
  connector: Schema.String,
  status: Schema.NullOr(Schema.Number),
  body: Json
}).annotations({
  identifier: "FailedProvider"
})

const quota = Schema.Struct({
  dimension: Schema.String,
  limit: Schema.Number,
  used: Schema.Number,
  resetAt: Schema.NullOr(Schema.String).annotations({ description: "when the window begins anew; null: never" })
}).annotations({ identifier: "Quota" })

/** By the failure; it has that one code. */
export const errorMembers = {
  PlanLimitReached: { code: "PLAN_LIMIT_REACHED", members: Schema.Struct({ quota }) },
  QuotaExceeded: { code: "QUOTA_EXCEEDED", members: Schema.Struct({ quota }) },
  InvalidState: { code: "INVALID_STATE", members: Schema.Struct({ state: Schema.String }) },
  TimedOut: { code: "TIMED_OUT", members: Schema.Struct({ executionId: Schema.String }) },
  ConnectionRequired: { code: "CONNECTION_REQUIRED", members: Schema.Struct({ connector: Schema.String }) },
  ProviderFailed: { code: "PROVIDER_ERROR", members: Schema.Struct({ provider }) },
  ProviderTimedOut: { code: "PROVIDER_TIMEOUT", members: Schema.Struct({ provider }) }
} as const satisfies {
  readonly [Tag in Failure["_tag"]]?: {
    readonly code: string
    readonly members: Schema.Schema.AnyNoContext
  }
}

type Declared = typeof errorMembers

/** What the row of a failure says of them: nothing where the failure has none. */
export type MembersOf<Tag extends Failure["_tag"]> = Tag extends keyof Declared
  ? { readonly code: Declared[Tag]["code"]; readonly more: Schema.Schema.Type<Declared[Tag]["members"]> }
  : { readonly more?: never }

interface Members {
  readonly [name: string]: Schema.Schema.AnyNoContext | Schema.optionalWith<Schema.Schema.AnyNoContext, { exact: true }>
}

/** The members of the errors of one status; one that only some of its failures have is optional and says with which. */
export const membersOf = (tags: ReadonlyArray<Failure["_tag"]>, having: (code: string) => string): Members => {
  const declared: { readonly [tag: string]: Declared[keyof Declared] | undefined } = errorMembers
  const found = tags.flatMap((tag) => {
    const { code = "", members } = declared[tag] ?? {}
    const fields: { readonly [name: string]: Schema.Schema.AnyNoContext } = members?.fields ?? {}
    return Object.entries(fields).map(([name, schema]) => ({ code, name, schema }))
  })
  const one = ({ code, name, schema }: (typeof found)[number]) =>
    found.filter((other) => other.name === name).length === tags.length
      ? schema
      : Schema.optionalWith(schema, { exact: true }).annotations({ description: having(code) })
  return Object.fromEntries(found.map((each) => [each.name, one(each)]))
}
