/** Where versions run. `test` and `live` are there from the start. Contract: environment record. */
import type { CustomerId, EnvironmentId, OrganisationId } from "./Ids.js"

export interface Environment {
  readonly id: EnvironmentId
  readonly organisationId: OrganisationId
  readonly customerId: CustomerId | null
  readonly name: string
  readonly slug: string
  readonly type: "builtin" | "custom"
  readonly protected: boolean
  readonly requiresReview: boolean
  /** Publishing deploys here at once. */
  readonly autoDeploy: boolean
  readonly createdAt: string
}
