/** The environments to which versions are deployed. Every organisation has `test` and `live`. Contract: environment record. */
import type { CustomerId, EnvironmentId, OrganisationId } from "../Ids.js"

/** The stored environment. */
export interface Environment {
  readonly id: EnvironmentId
  readonly organisationId: OrganisationId
  readonly customerId: CustomerId | null
  readonly name: string
  readonly slug: string
  readonly type: "builtin" | "custom"
  readonly protected: boolean
  readonly requiresReview: boolean
  /** Publishing a version deploys it here. */
  readonly autoDeploy: boolean
  readonly createdAt: string
}
