/**
 * Members that the error bodies of some failures have besides the common ones. The compiler checks the rows of
 * `ErrorRows.ts` against them, and the OpenAPI documents are generated from them. Contract: errors.
 */
import { Schema } from "effect"
import type { Failure } from "../domain/Failure.js"
import { Json } from "../domain/Json.js"
import { AnsweredTime } from "../domain/Time.js"

/** The provider's answer; `status` and `body` are null if it sent none. */
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
  resetAt: Schema.NullOr(AnsweredTime).annotations({ description: "when the window starts again; null: never" })
}).annotations({ identifier: "Quota" })

/** By the tag of the failure, which has exactly this code. */
export const errorMembers = {
  PlanLimitReached: { code: "PLAN_LIMIT_REACHED", members: Schema.Struct({ quota }) },
  QuotaExceeded: { code: "QUOTA_EXCEEDED", members: Schema.Struct({ quota }) },
  Managed: {
    code: "MANAGED",
    members: Schema.Struct({ managedBy: Schema.Struct({ kind: Schema.Literal("workflow"), id: Schema.String }) })
  },
  InvalidState: { code: "INVALID_STATE", members: Schema.Struct({ state: Schema.String }) },
  TimedOut: { code: "TIMED_OUT", members: Schema.Struct({ executionId: Schema.String }) },
  FlowFailed: { code: "INTERNAL_ERROR", members: Schema.Struct({ executionId: Schema.String }) },
  DatasourceFailed: { code: "DATASOURCE_CONNECTION_ERROR", members: Schema.Struct({ executionId: Schema.String }) },
  ConnectionRequired: { code: "CONNECTION_REQUIRED", members: Schema.Struct({ connector: Schema.String }) },
  CategoryConnectionRequired: { code: "CONNECTION_REQUIRED", members: Schema.Struct({ category: Schema.String }) },
  ProviderFailed: { code: "PROVIDER_ERROR", members: Schema.Struct({ provider }) },
  ProviderTimedOut: { code: "PROVIDER_TIMEOUT", members: Schema.Struct({ provider }) }
} as const satisfies {
  readonly [Tag in Failure["_tag"]]?: {
    readonly code: string
    readonly members: Schema.Schema.AnyNoContext
  }
}

type Declared = typeof errorMembers

/** The members that the row of a failure must have; none if the failure has no members of its own. */
export type MembersOf<Tag extends Failure["_tag"]> = Tag extends keyof Declared
  ? { readonly code: Declared[Tag]["code"]; readonly more: Schema.Schema.Type<Declared[Tag]["members"]> }
  : { readonly more?: never }

interface Members {
  readonly [name: string]: Schema.Schema.AnyNoContext | Schema.optionalWith<Schema.Schema.AnyNoContext, { exact: true }>
}

/**
 * Schemas of the members of one status. A member that only some of its failures have is optional; `describeWhen` says
 * in its description with which code it is present. `others`: failures of this status without members of their own.
 */
export const membersOf = (
  tags: ReadonlyArray<Failure["_tag"]>,
  describeWhen: (code: string) => string,
  others = 0
): Members => {
  const declared: { readonly [tag: string]: Declared[keyof Declared] | undefined } = errorMembers
  const found = tags.flatMap((tag) => {
    const { code = "", members } = declared[tag] ?? {}
    const fields: { readonly [name: string]: Schema.Schema.AnyNoContext } = members?.fields ?? {}
    return Object.entries(fields).map(([name, schema]) => ({ code, name, schema }))
  })
  const schemaOf = ({ code, name, schema }: (typeof found)[number]) =>
    found.filter((other) => other.name === name).length === tags.length + others
      ? schema
      : Schema.optionalWith(schema, { exact: true }).annotations({ description: describeWhen(code) })
  return Object.fromEntries(found.map((each) => [each.name, schemaOf(each)]))
}
