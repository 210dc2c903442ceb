/** The operations on the organisation and its workspaces. Contract: organisation record. */
import { Effect, Schema } from "effect"
import { Project, Team } from "../../domain/organisation/Group.js"
import {
  CreateInOrganisation,
  foreignMemberRefusal,
  OrganisationKind
} from "../../domain/organisation/NewOrganisation.js"
import { Organisation, Workspace } from "../../domain/organisation/Organisation.js"
import { operationsOf } from "../operation/Operation.js"
import { closedToNarrowedKeys } from "../ClosedScope.js"
import { listParams } from "../../actors/management/Pages.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import { Groups } from "../../actors/management/organisation/Groups.js"
import { Organisations } from "../../actors/management/organisation/Organisations.js"
import { Workspaces } from "../../actors/management/organisation/Workspaces.js"
import { newOrStoredRecord, newRecord, page, record } from "../operation/Output.js"

const ofOrganisations = operationsOf({
  parameters: { oid: "The id of the organisation." },
  with: Organisations,
  resource: "organisation",
  sharing: "hidden",
  scoped: {}
})

const ofAll = operationsOf({
  with: Effect.all([Organisations, Groups]),
  resource: "organisation",
  sharing: "hidden",
  scoped: {}
})

/** A new organisation, with what is shown once. */
const CreatedOrganisation = Schema.Struct({
  ...Organisation.View.fields,
  spaceId: Schema.String.annotations({ description: "its first workspace" }),
  apiKeyId: Schema.String,
  apiKey: Schema.String.annotations({ description: "its first key, whole: it is shown in this answer only" })
}).annotations({ identifier: "CreatedOrganisation" })

const ofWorkspaces = operationsOf({
  parameters: { spid: "The id of the workspace." },
  with: Workspaces,
  resource: "workspace",
  sharing: "hidden",
  scoped: {}
})

/** The operations of the group `organisations`, in the order of the documents. */
export const organisationsOperations = [
  ofAll({
    name: "organisations.list",
    summary: "List organisations, teams or projects",
    description:
      "Lists the organisation of the calling key and those whose parent it is; or the teams, or the projects, of that organisation.",
    answers: { 200: "A page of the kind that the query names; organizations without one." },
    route: "GET /api/v1/organizations",
    query: Schema.Struct({ ...listParams, kind: Schema.optional(OrganisationKind) }),
    output: page(Schema.Union(Organisation.View, Team.View, Project.View)),
    permit: "settings:read",
    openWhileSuspended: true,
    use: ([organisations, groups], { context, query: { kind = "organization", ...params } }) =>
      kind === "organization" ? organisations.list(context, params) : groups.list(context, kind, params)
  }),
  ofAll({
    name: "organisations.create",
    summary: "Create an organisation, a team or a project",
    description:
      "Creates an organisation whose parent is that of the calling key: it has its own customers, workflows and keys, its parent's plan, and what it uses counts towards its parent's limits. The answer alone shows its first key, which has the permissions of the calling one. Or creates a team or a project in the organisation of the calling key; one of that name, or of that slug, is replaced.",
    answers: { 200: "The team or the project was replaced.", 201: "It is created." },
    example: { name: "Acme Berlin", timezone: "Europe/Berlin", settings: { codeEditing: true } },
    route: "POST /api/v1/organizations",
    body: strictPayload(CreateInOrganisation),
    output: newOrStoredRecord(Schema.Union(CreatedOrganisation, Team.View, Project.View)),
    permit: "settings:manage",
    scoped: closedToNarrowedKeys,
    noStore: true,
    use: ([organisations, groups], { context, body }) => {
      const { kind = "organization" } = body
      const foreign = foreignMemberRefusal(body)
      if (foreign !== undefined) return foreign
      if (kind === "organization") return organisations.create(context, body)
      return Effect.map(groups.store(context, kind, body), ({ isNew, value }) => {
        context.status = isNew ? 201 : 200
        return value
      })
    }
  }),
  ofOrganisations({
    name: "organisations.get",
    summary: "Read an organisation",
    description:
      "Reads the organisation's settings, plan and status. It works while the organisation is suspended too.",
    answers: { 200: "The organisation." },
    route: "GET /api/v1/organizations/:oid",
    output: record(Organisation.View),
    permit: "settings:read",
    openWhileSuspended: true,
    use: (organisations, { context, path }) => organisations.get(context, path.oid)
  }),
  ofOrganisations({
    name: "organisations.update",
    summary: "Change an organisation",
    description:
      "Changes the members that are sent; the others stay. A suspended organisation is closed to all requests but those that read and change the organisation itself.",
    answers: { 200: "The organisation after the change." },
    example: { name: "Acme Integrations", timezone: "Europe/Berlin" },
    route: "PUT /api/v1/organizations/:oid",
    body: putPayload(Organisation.Update, Organisation.View),
    output: record(Organisation.View),
    permit: "settings:manage",
    scoped: closedToNarrowedKeys,
    openWhileSuspended: true,
    use: (organisations, { context, path, body }) => organisations.update(context, path.oid, body)
  })
] as const

/** The operations of the group `workspaces`, in the order of the documents. */
export const workspacesOperations = [
  ofWorkspaces({
    name: "workspaces.list",
    summary: "List workspaces",
    description: "Lists the organisation's workspaces, newest first.",
    answers: { 200: "A page of workspaces." },
    route: "GET /api/v1/workspaces",
    query: Schema.Struct(listParams),
    output: page(Workspace.View),
    permit: "settings:read",
    use: (workspaces, { context, query }) => workspaces.list(context, query)
  }),
  ofWorkspaces({
    name: "workspaces.create",
    summary: "Create a workspace",
    description: "Creates a workspace. Keys, workflows and state belong to one; customers belong to the organisation.",
    answers: { 201: "The workspace is created." },
    example: { name: "Staging", slug: "staging" },
    route: "POST /api/v1/workspaces",
    body: strictPayload(Workspace.Create),
    output: newRecord(Workspace.View),
    permit: "settings:manage",
    scoped: closedToNarrowedKeys,
    use: (workspaces, { context, body }) => workspaces.create(context, body)
  }),
  ofWorkspaces({
    name: "workspaces.get",
    summary: "Read a workspace",
    description: "Reads one workspace of the organisation.",
    answers: { 200: "The workspace." },
    route: "GET /api/v1/workspaces/:spid",
    output: record(Workspace.View),
    permit: "settings:read",
    use: (workspaces, { context, path }) => workspaces.get(context, path.spid)
  }),
  ofWorkspaces({
    name: "workspaces.update",
    summary: "Change a workspace",
    description: "Changes the name or the slug of a workspace.",
    answers: { 200: "The workspace after the change." },
    example: { name: "Staging area" },
    route: "PUT /api/v1/workspaces/:spid",
    body: putPayload(Workspace.Update, Workspace.View),
    output: record(Workspace.View),
    permit: "settings:manage",
    scoped: closedToNarrowedKeys,
    use: (workspaces, { context, path, body }) => workspaces.update(context, path.spid, body)
  })
] as const
