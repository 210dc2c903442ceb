/** The environments to which versions are deployed. Every organisation has `test` and `live`. Contract: environment record. */
import { Schema } from "effect"
import { CustomerId, EnvironmentId, OrganisationId } from "../Ids.js"
import { AnsweredTime } from "../Time.js"

/** The stored environment. */
export const Environment = Schema.Struct({
  id: EnvironmentId,
  organisationId: OrganisationId,
  customerId: Schema.NullOr(CustomerId),
  name: Schema.String,
  slug: Schema.String,
  type: Schema.Literal("builtin", "custom"),
  protected: Schema.Boolean,
  requiresReview: Schema.Boolean,
  /** Publishing a version deploys it here. */
  autoDeploy: Schema.Boolean,
  createdAt: AnsweredTime
})
export type Environment = typeof Environment.Type
