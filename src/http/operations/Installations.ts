/** The operations on customers' installations of integrations. Contract: surface C bodies; installation record. */
import { Installation, UpdateInstallation } from "../../domain/organisation/Installation.js"
import { auditAction } from "../operation/Contract.js"
import { operationsOf } from "../operation/Operation.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import { InstallationList, Installations } from "../../actors/management/organisation/Installations.js"
import { record, newRecord, page, empty } from "../operation/Output.js"
import { EmbeddedInstallationList, EmbeddedInstallations } from "../../actors/management/embed/EmbeddedInstallations.js"
import {
  ChangeInstallation,
  EmbeddedInstallation,
  InstallIntegration
} from "../../domain/organisation/EmbeddedInstallation.js"

/** A key's scope applies to an installation by all of its workflows, connections and connectors. */
const recordScope = { workflow: "record", connection: "record", connector: "record" } as const

const ofInstallations = operationsOf({
  parameters: { inst: "The id of the installation." },
  with: Installations,
  resource: "installation",
  sharing: "customers",
  scoped: recordScope
})

/** Of its widget's integrations a session does with this permission what keys need more for. */
const ofSessions = { permit: "widgets:read", with: EmbeddedInstallations } as const

/** The operations of the group `installations`, in the order of the documents. */
export const installationsOperations = [
  ofInstallations({
    name: "installations.list",
    summary: "List installations",
    description: "Lists the integrations that customers have installed, newest first.",
    answers: { 200: "A page of installations." },
    route: "GET /api/v1/installations",
    query: InstallationList,
    output: page(Installation.View),
    permit: "widgets:read",
    scoped: { workflow: "list", connection: "list", connector: "list" },
    use: (installations, { context, query }) => installations.list(context, query),
    sessions: {
      ...ofSessions,
      words: { description: "Lists what of the widget's integrations the customer has installed, newest first." },
      query: EmbeddedInstallationList,
      output: page(EmbeddedInstallation),
      use: (installations, { context, query }) => installations.list(context, query)
    }
  }),
  ofInstallations({
    name: "installations.create",
    summary: "Install an integration",
    description: "Installs an integration for a customer: its workflows, connections and configuration.",
    answers: { 201: "The installation is created." },
    example: {
      customerId: "cus_01k0000000000000000000000a",
      integration: "contact-sync",
      workflowIds: ["wf_000000000000"],
      config: { pageSize: 50 }
    },
    route: "POST /api/v1/installations",
    body: strictPayload(Installation.Create),
    output: newRecord(Installation.View),
    permit: "widgets:create",
    use: (installations, { context, body }) => installations.create(context, body),
    sessions: {
      ...ofSessions,
      words: {
        description:
          "Installs an integration of the session's widget for its customer: with connections to the integration's connectors, and with settings by its `configSchema`. Its workflows are the widget's."
      },
      body: strictPayload(InstallIntegration),
      output: newRecord(EmbeddedInstallation),
      use: (installations, { context, body }) => installations.create(context, body)
    }
  }),
  ofInstallations({
    name: "installations.get",
    summary: "Read an installation",
    description: "Reads an installation with its configuration.",
    answers: { 200: "The installation." },
    route: "GET /api/v1/installations/:inst",
    output: record(Installation.View),
    permit: "widgets:read",
    use: (installations, { context, path }) => installations.get(context, path.inst),
    sessions: {
      ...ofSessions,
      output: record(EmbeddedInstallation),
      use: (installations, { context, path }) => installations.get(context, path.inst)
    }
  }),
  ofInstallations({
    name: "installations.update",
    summary: "Change an installation",
    description: "Changes the members that are sent; the others stay.",
    answers: { 200: "The installation after the change." },
    example: { config: { pageSize: 100 }, status: "paused" },
    route: "PUT /api/v1/installations/:inst",
    body: putPayload(UpdateInstallation, Installation.View),
    output: record(Installation.View),
    permit: "widgets:update",
    use: (installations, { context, path, body }) => installations.update(context, path.inst, body),
    sessions: {
      ...ofSessions,
      body: putPayload(ChangeInstallation, EmbeddedInstallation),
      output: record(EmbeddedInstallation),
      use: (installations, { context, path, body }) => installations.change(context, path.inst, body)
    }
  }),
  ofInstallations({
    name: "installations.uninstall",
    summary: "Uninstall an integration",
    description: "Uninstalls an integration of a customer. Its connections stay.",
    answers: { 204: "The integration is uninstalled." },
    route: "DELETE /api/v1/installations/:inst",
    output: empty,
    permit: "widgets:delete",
    audit: auditAction("installation.delete"),
    use: (installations, { context, path }) => installations.uninstall(context, path.inst),
    sessions: {
      ...ofSessions,
      output: empty,
      use: (installations, { context, path }) => installations.uninstall(context, path.inst)
    }
  })
] as const
