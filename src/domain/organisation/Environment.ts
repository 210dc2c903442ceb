/**
 * The environments to which versions are deployed. Every organisation has `test` and `live`. A customer may have its own,
 * which replaces the organisation's of that slug for that customer. Contract: environment record.
 */
import { Schema } from "effect"
import { Forbidden, InvalidState, invalid, type ValidationFailed } from "../Failure.js"
import { CustomerId, type EnvironmentId, EnvironmentId as Id, OrganisationId } from "../Ids.js"
import { fixedValue, generatedValue, hidden, optional, owner, recordOf, required } from "../Record.js"
import { NullableText } from "../Scalars.js"
import { Slug } from "../Slug.js"
import { AnsweredTime } from "../Time.js"

/** Environments of one customer, or of the organisation itself. */
export const environmentLimit = 50

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))

/** An environment: its record, bodies and view. Times are RFC 3339. */
export const Environment = recordOf("Environment", {
  id: generatedValue(Id, Schema.String),
  organisationId: owner(OrganisationId),
  customerId: fixedValue(optional(Schema.NullOr(CustomerId), null, NullableText, NullableText)),
  name: required(Schema.String, Name),
  slug: fixedValue(required(Schema.String, Slug)),
  type: generatedValue(Schema.Literal("builtin", "custom")),
  protected: optional(
    Schema.Boolean,
    false,
    Schema.Boolean.annotations({ description: "Deploying needs the permission `deploy_prod`, as in `live`." })
  ),
  requiresReview: optional(
    Schema.Boolean,
    false,
    Schema.Boolean.annotations({ description: "Releases are deployed by another caller than their creator." })
  ),
  autoDeploy: optional(
    Schema.Boolean,
    false,
    Schema.Boolean.annotations({ description: "Publishing a workflow deploys it here." })
  ),
  /** Who took `requiresReview` away: it reviewed what others deploy, not what it creates itself. */
  waivedBy: hidden(NullableText),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored environment. */
export type Environment = typeof Environment.stored.Type
export type CreateEnvironment = typeof Environment.Create.Type
export type UpdateEnvironment = typeof Environment.Update.Type

/** The environment that always runs the latest published version. */
export const latestEnvironment = "test"

/** In which the triggers of flows start their runs. */
export const triggerEnvironment = "live"

const builtinSlugs: ReadonlySet<string> = new Set([latestEnvironment, triggerEnvironment])

/** An environment that every organisation has from its beginning. `now`: RFC 3339. */
export const builtinEnvironment = (
  organisationId: OrganisationId,
  id: EnvironmentId,
  slug: "test" | "live",
  now: string
): Environment =>
  Environment.create(
    {
      name: slug === "test" ? "Test" : "Live",
      slug,
      protected: slug === "live",
      autoDeploy: slug === "live"
    },
    { id, organisationId, type: "builtin" },
    now
  )

/** The refusal of a slug that only the built-in environments have. */
export const slugRefusal = (slug: string): ValidationFailed | undefined =>
  builtinSlugs.has(slug) ? invalid("slug", "RESERVED_NAME", "is reserved", "RESERVED_NAME") : undefined

/** The refusal of settings that would not hold: `test` runs what is published, whoever publishes it. */
export const settingsRefusal = (after: Environment): ValidationFailed | undefined => {
  if (after.slug !== latestEnvironment || after.customerId !== null) return undefined
  const member = (["protected", "requiresReview"] as const).find((one) => after[one])
  return member === undefined
    ? undefined
    : invalid(member, "INVALID_VALUE", `must be false: ${latestEnvironment} runs the latest published version`)
}

/** The refusal to delete a built-in environment. */
export const deletionRefusal = ({ slug, type }: Environment): InvalidState | undefined =>
  type === "builtin"
    ? new InvalidState({ state: type, message: `${slug} is built in: it cannot be deleted` })
    : undefined

/** The record after a change. `by`: who changes it. `now`: RFC 3339. */
export const changedEnvironment = (
  before: Environment,
  input: UpdateEnvironment,
  by: string,
  now: string
): Environment => {
  const after = Environment.change(before, input, now)
  if (after.requiresReview) return { ...after, waivedBy: null }
  return before.requiresReview ? { ...after, waivedBy: by } : after
}

/** Members whose change decides about deployments, so that it needs the permission to deploy. */
export const deploymentMembers = ["protected", "requiresReview", "autoDeploy"] as const

/** What applies to deployments to an environment: a customer's own one is protected as the organisation's of that slug, too. */
export interface DeploymentRules {
  readonly slug: string
  readonly needs: "workflows:deploy_prod" | "workflows:deploy_test"
  readonly requiresReview: boolean
  /** Who has taken the flag away. */
  readonly waivedBy: ReadonlyArray<string>
}

/** The rules of the environments of one slug: the organisation's and perhaps a customer's; `undefined`: there is none. */
export const deploymentRules = (found: ReadonlyArray<Environment>): DeploymentRules | undefined => {
  const [first] = found
  if (first === undefined) return undefined
  const isProtected = first.slug === "live" || found.some((one) => one.protected)
  return {
    slug: first.slug,
    needs: isProtected ? "workflows:deploy_prod" : "workflows:deploy_test",
    requiresReview: found.some((one) => one.requiresReview),
    waivedBy: found.flatMap(({ waivedBy }) => waivedBy ?? [])
  }
}

/** The refusal of a caller that would review itself. */
export const reviewRequired = (slug: string): Forbidden =>
  new Forbidden({
    code: "REVIEW_REQUIRED",
    message: `${slug} requires a review: another author than the one who created the release must do this. A key is of who made it; who was invited is another author after signing in by mail, at the identity provider or by the operator's link`
  })

/** Whether the text can be the slug of an environment, in any case. */
export const isEnvironmentSlug = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/.test(text)
