/** The endpoints of the organisation and its workspaces. Contract: organisation record. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { CreateWorkspace, OrganisationStatus, UpdateOrganisation, UpdateWorkspace } from "../../domain/Organisation.js"
import { PlanName } from "../../domain/Plan.js"
import { Audited, auditAction, OpenWhileSuspended, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { closedToNarrowedKeys } from "./ClosedScope.js"
import { CreatedData, Data, listParams, Page, putPayload, strictPayload, Time } from "./Shapes.js"

const OrganisationView = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  slug: Schema.String,
  parentId: Schema.NullOr(Schema.String),
  timezone: Schema.String,
  plan: PlanName,
  status: OrganisationStatus.annotations({
    description: "keys of a suspended organisation can only read and change the organisation itself"
  }),
  defaultEnvironment: Schema.String,
  settings: Schema.Struct({
    codeEditing: Schema.Boolean.annotations({
      description: "whether keys of an organisation with a parent may write code"
    }),
    dlqAutoReplay: Schema.Boolean
  }),
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}).annotations({ identifier: "Organisation" })

const WorkspaceView = Schema.Struct({
  id: Schema.String,
  organisationId: Schema.String,
  name: Schema.String,
  slug: Schema.String,
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}).annotations({ identifier: "Workspace" })

const { q, ...pageParams } = listParams

const organisationPath = Schema.Struct({ oid: Schema.String })
const organisationsPath = "/api/v1/organizations"

/** Organisations on surface C. */
export const OrganisationsApi = HttpApiGroup.make("organisations")
  .add(
    HttpApiEndpoint.get("list", organisationsPath)
      .setUrlParams(Schema.Struct({ ...pageParams, kind: Schema.optional(Schema.Literal("organization")) }))
      .addSuccess(Page(OrganisationView))
      .annotate(Permit, "settings:read")
      .annotate(Audited, auditRead("organisation"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
      .annotate(OpenWhileSuspended, true)
  )
  .add(
    HttpApiEndpoint.get("get", `${organisationsPath}/:oid`)
      .setPath(organisationPath)
      .addSuccess(Data(OrganisationView))
      .annotate(Permit, "settings:read")
      .annotate(Audited, auditRead("organisation"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
      .annotate(OpenWhileSuspended, true)
  )
  .add(
    HttpApiEndpoint.put("update", `${organisationsPath}/:oid`)
      .setPath(organisationPath)
      .setPayload(putPayload(UpdateOrganisation, OrganisationView))
      .addSuccess(Data(OrganisationView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("organisation.update"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
      .annotate(OpenWhileSuspended, true)
  )

const workspacePath = Schema.Struct({ spid: Schema.String })
const workspacesPath = "/api/v1/workspaces"

/** Workspaces on surface C. */
export const WorkspacesApi = HttpApiGroup.make("workspaces")
  .add(
    HttpApiEndpoint.get("list", workspacesPath)
      .setUrlParams(Schema.Struct({ ...pageParams, q }))
      .addSuccess(Page(WorkspaceView))
      .annotate(Permit, "settings:read")
      .annotate(Audited, auditRead("workspace"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.post("create", workspacesPath)
      .setPayload(strictPayload(CreateWorkspace))
      .addSuccess(CreatedData(WorkspaceView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("workspace.create"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.get("get", `${workspacesPath}/:spid`)
      .setPath(workspacePath)
      .addSuccess(Data(WorkspaceView))
      .annotate(Permit, "settings:read")
      .annotate(Audited, auditRead("workspace"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.put("update", `${workspacesPath}/:spid`)
      .setPath(workspacePath)
      .setPayload(putPayload(UpdateWorkspace, WorkspaceView))
      .addSuccess(Data(WorkspaceView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("workspace.update"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
