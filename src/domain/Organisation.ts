/** The owner of everything else, and its workspaces. Contract: organisation record. */
import type { OrganisationId, SpaceId } from "./Ids.js"
import type { PlanName } from "./Plan.js"

/** Times are RFC 3339. */
export interface Organisation {
  readonly id: OrganisationId
  readonly name: string
  readonly slug: string
  readonly parentId: OrganisationId | null
  readonly timezone: string
  readonly plan: PlanName
  readonly status: "active" | "suspended"
  readonly defaultEnvironment: string
  readonly settings: { readonly codeEditing?: boolean; readonly dlqAutoReplay?: boolean }
  readonly createdAt: string
  readonly updatedAt: string
  readonly version: number
}

/** Key, workflow, trigger and state belong to one workspace; customers to the organisation. */
export interface Workspace {
  readonly id: SpaceId
  readonly organisationId: OrganisationId
  readonly name: string
  readonly slug: string
  readonly callbackSecret: Uint8Array | null
  readonly callbackSecretBefore: Uint8Array | null
  readonly callbackRotatedAt: string | null
  readonly createdAt: string
}
