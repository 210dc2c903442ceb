/** The operations on the organisation and its workspaces. Contract: organisation record. */
import { Schema } from "effect"
import { Organisation, Workspace } from "../../domain/organisation/Organisation.js"
import { operationsOf } from "../operation/Operation.js"
import { closedToNarrowedKeys } from "../ClosedScope.js"
import { listParams } from "../../actors/management/Pages.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import { Organisations } from "../../actors/management/organisation/Organisations.js"
import { Workspaces } from "../../actors/management/organisation/Workspaces.js"
import { record, newRecord, page } from "../operation/Output.js"

const { q, ...pageParams } = listParams

const ofOrganisations = operationsOf({ with: Organisations, resource: "organisation", sharing: "hidden", scoped: {} })

const ofWorkspaces = operationsOf({ with: Workspaces, resource: "workspace", sharing: "hidden", scoped: {} })

/** The operations of the group `organisations`, in the order of the documents. */
export const organisationsOperations = [
  ofOrganisations({
    name: "organisations.list",
    summary: "List organisations",
    description: "Lists the organisation of the calling key as a page of one.",
    answers: { 200: "A page of organisations." },
    route: "GET /api/v1/organizations",
    query: Schema.Struct({ ...pageParams, kind: Schema.optional(Schema.Literal("organization")) }),
    output: page(Organisation.View),
    permit: "settings:read",
    openWhileSuspended: true,
    use: (organisations, { context, query }) => organisations.list(context, query)
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
    query: Schema.Struct({ ...pageParams, q }),
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
