/** The operations on releases. Contract: release record. */
import { Effect, Schema } from "effect"
import { type AnsweredRelease, ReleaseList, Releases } from "../../../actors/management/release/Releases.js"
import { CreateRelease, Release, ReleaseSummary, RollBackRelease } from "../../../domain/workflow/Release.js"
import { auditAction } from "../../operation/Contract.js"
import { forTenants } from "../../operation/ForTenants.js"
import { operationsOf } from "../../operation/Operation.js"
import { newRecord, page, record } from "../../operation/Output.js"
import { strictPayload } from "../../PayloadSchema.js"
import type { Exchange } from "../../pipeline/Exchange.js"
import { pathOf } from "../../Wire.js"

/** The environment's own permission is checked with its rules. */
const deploys = ["workflows:deploy_test", "workflows:deploy_prod"] as const

const ofReleases = operationsOf({
  parameters: { rel: "The id of the release." },
  with: Releases,
  resource: "release",
  sharing: "perRecord",
  scoped: { workflow: "record", environment: "record" }
})

const DeployRelease = Schema.Struct({ environment: Schema.String }).annotations({ identifier: "DeployRelease" })

/** A release's own number is its `version`, so that the ETag is the counter of its changes. */
const answered =
  (context: Exchange) =>
  ({ revision, view }: AnsweredRelease) => {
    context.replyHeaders["etag"] = `"${revision}"`
    return view
  }

/** The operations of the group `releases`, in the order of the documents. */
export const releasesOperations = [
  ofReleases({
    name: "releases.list",
    summary: "List releases",
    description: "Lists the releases of the workspace without their workflows, newest first.",
    answers: { 200: "A page of releases." },
    route: "GET /api/v1/releases",
    query: ReleaseList,
    output: page(ReleaseSummary),
    permit: "workflows:read",
    scoped: { workflow: "list", environment: "list" },
    use: (releases, { context, query }) => releases.list(context, query)
  }),
  ofReleases({
    name: "releases.create",
    summary: "Create a release",
    description:
      "Fixes the versions of several workflows, by default of all that are published. With `environment` they are deployed at once: all of them, or the release is not created.",
    answers: { 201: "The release is created, and deployed if it names an environment." },
    example: {
      name: "October",
      notes: "New order flow",
      workflows: [{ workflowId: "wf_000000000000", version: 1 }],
      environment: "live"
    },
    route: "POST /api/v1/releases",
    body: strictPayload(CreateRelease),
    output: newRecord(Release.View),
    permit: deploys,
    use: (releases, { context, body }) => Effect.map(releases.create(context, body), answered(context))
  }),
  ofReleases({
    name: "releases.get",
    summary: "Read a release",
    description: "Reads a release with its workflows.",
    answers: { 200: "The release." },
    route: "GET /api/v1/releases/:rel",
    output: record(Release.View),
    permit: "workflows:read",
    use: (releases, { context, path }) => Effect.map(releases.get(context, path.rel), answered(context))
  }),
  ofReleases({
    name: "releases.deploy",
    summary: "Deploy a release",
    description:
      "Deploys all versions of the release to an environment, or none: a workflow that is archived, or an action that cannot be called any more, refuses it. Where the environment requires a review, another caller than the release's creator does this.",
    answers: { 200: "The release is deployed: the next run uses it." },
    example: { environment: "live" },
    route: "POST /api/v1/releases/:rel/deploy",
    body: strictPayload(DeployRelease),
    output: record(Release.View),
    permit: deploys,
    use: (releases, { context, path, body }) =>
      Effect.map(releases.deploy(context, path.rel, body.environment), answered(context))
  }),
  ofReleases({
    name: "releases.rollBack",
    summary: "Roll back a release",
    description:
      "Deploys, as a new release, exactly what the environment had before this one: earlier versions come back, and workflows that were not deployed there are removed. The release must be the environment's current one. What was deployed there since, such as by publishing, is taken away with `remove: true` only: without it the answer is 409 with the detail code `WOULD_REMOVE`, and names the workflows.",
    answers: { 201: "The new release, whose `rollbackOf` names this one." },
    example: { environment: "live" },
    route: "POST /api/v1/releases/:rel/rollback",
    body: strictPayload(RollBackRelease),
    output: newRecord(Release.View),
    permit: deploys,
    audit: auditAction("release.rollback"),
    use: (releases, { context, path, body }) =>
      Effect.map(releases.rollBack(context, path.rel, body), (release) => {
        const all = pathOf(context.request.target).replace(/\/[^/]+\/rollback\/*$/, "")
        context.replyHeaders["location"] = `${all}/${release.view.id}`
        return answered(context)(release)
      })
  })
] as const

/** The operations of the group `tenantReleases`: those of one customer, on surface B. */
export const tenantReleaseOperations = forTenants("tenantReleases", releasesOperations, {
  list: {
    summary: "List a tenant's releases",
    description: "Lists the tenant's releases and the organisation's without their workflows, newest first.",
    query: ReleaseList.omit("customer_id")
  },
  create: {
    summary: "Create a release of a tenant",
    description:
      "Fixes the versions of several workflows, of the tenant's own and of the organisation's, by default of all that are published. With `environment` they are deployed at once, for the tenant only: all of them, or the release is not created.",
    body: strictPayload(CreateRelease.omit("customerId").annotations({ identifier: "CreateTenantRelease" })),
    isOwned: true
  },
  get: { summary: "Read a release of a tenant" },
  deploy: {
    summary: "Deploy a release of a tenant",
    description: "Deploys all versions of the tenant's release to an environment, for the tenant only, or none."
  },
  rollBack: { summary: "Roll back a release of a tenant" }
})
