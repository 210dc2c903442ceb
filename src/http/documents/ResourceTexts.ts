/** Texts of surface C's operations on workflows, executions, connectors, connections and installations. */
import type { ResourceApi } from "../resource/Api.js"
import type { TextsOf } from "./OperationText.js"
import { eventTexts } from "./EventTexts.js"
import { organisationTexts } from "./OrganisationTexts.js"
import { triggerTexts } from "./TriggerTexts.js"
import { outwardTexts } from "./OutwardTexts.js"

const connector = {
  svcConnector: 1,
  slug: "acme-crm",
  name: "Acme CRM",
  kind: "crm",
  version: "1.0.0",
  baseUrl: "https://api.acme.example/v3",
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      grant: "authorization_code",
      authorizationUrl: "https://acme.example/authorize",
      tokenUrl: "https://acme.example/token",
      scopes: ["contacts.read"]
    },
    {
      id: "key",
      type: "api_key",
      fields: [{ name: "apiKey", secret: true, title: "API key" }],
      inject: [{ in: "header", name: "X-API-Key", value: "{{credential.apiKey}}" }]
    }
  ],
  actions: [
    {
      name: "listContacts",
      version: 1,
      title: "List contacts",
      readOnly: true,
      request: { method: "GET", path: "/contacts" }
    }
  ]
}

/** Texts by operation id; all of surface C. */
export const resourceTexts: TextsOf<typeof ResourceApi> = {
  ...organisationTexts,
  ...eventTexts,
  ...triggerTexts,
  ...outwardTexts,
  "workflows.list": {
    summary: "List workflows",
    description: "Lists the workflows of the workspace without their code, newest first.",
    answers: { 200: "A page of workflows." }
  },
  "workflows.create": {
    summary: "Create a workflow",
    description:
      "Creates a workflow with a draft. Code that does not parse is refused with its line and column. A draft runs only with `draft: true`; publish it to run it without.",
    answers: { 201: "The workflow is created." },
    example: {
      name: "greet",
      form: "code",
      code: "export default async function greet(ctx) {\n  return { greeting: `Hello ${ctx.input.name}` }\n}\n",
      tier: "instant",
      tags: ["example"]
    }
  },
  "workflows.get": {
    summary: "Read a workflow",
    description: "Reads a workflow with its draft, its versions and their deployments.",
    answers: { 200: "The workflow." }
  },
  "workflows.update": {
    summary: "Change a workflow",
    description: "Changes the members that are sent; the others stay. New code goes into the draft.",
    answers: { 200: "The workflow after the change." },
    example: { description: "Greets a person by name", tags: ["example", "greeting"] }
  },
  "workflows.delete": {
    summary: "Delete a workflow",
    description: "Deletes a workflow. Records of its runs stay as long as the plan keeps them.",
    answers: { 204: "The workflow is deleted." }
  },
  "workflows.publish": {
    summary: "Publish a workflow",
    description:
      "Freezes the draft as the next version and deploys it to the default environment. With `version`, an earlier one is published again.",
    answers: { 200: "The published version and where it is deployed." },
    example: { notes: "Greets by name" }
  },
  "workflows.archive": {
    summary: "Archive a workflow",
    description: "Archives a workflow: it cannot run until it is published again.",
    answers: { 200: "The archived workflow." }
  },
  "workflows.versions": {
    summary: "List versions of a workflow",
    description: "Lists the published versions, newest first.",
    answers: { 200: "A page of versions." }
  },
  "workflows.diff": {
    summary: "Compare two versions of a workflow",
    description: "Compares the code of two versions line by line, and their contracts.",
    answers: { 200: "The difference." }
  },
  "workflows.diagram": {
    summary: "Draw a workflow",
    description: "Draws the draft's calls and branches as a diagram.",
    answers: { 200: "The diagram as SVG." }
  },
  "executions.list": {
    summary: "List executions",
    description: "Lists the runs of the workspace that the key reaches, newest first.",
    answers: { 200: "A page of executions." }
  },
  "executions.get": {
    summary: "Read an execution",
    description: "Reads the record of a run with its input, output and steps.",
    answers: { 200: "The execution." }
  },
  "executions.cancel": {
    summary: "Cancel an execution",
    description: "Cancels a run that has not ended. A call that is in flight is not undone.",
    answers: { 200: "The cancelled execution." }
  },
  "executions.rerun": {
    summary: "Run an execution again",
    description:
      "Starts a run with the input of an earlier one. `fresh` makes all calls again, `resume` reuses the results of calls that succeeded.",
    answers: { 202: "The new execution is accepted." },
    example: { mode: "fresh", version: "latest" }
  },
  "executions.fixtures": {
    summary: "Read the calls of an execution as fixtures",
    description:
      "Answers with the connector calls of a run and their results, in the form of `fixtures` of a mocked run.",
    answers: { 200: "The fixtures." }
  },
  "executions.logs": {
    summary: "List log lines of an execution",
    description: "Lists what the run wrote to the console, oldest first.",
    answers: { 200: "A page of log lines." }
  },
  "executions.blob": {
    summary: "Read a large value of an execution",
    description: "Answers with a value that is stored outside the record since it is too large; the record has its id.",
    answers: { 200: "The value." }
  },
  "connectors.list": {
    summary: "List connectors",
    description: "Lists the built-in connectors and those of the organisation.",
    answers: { 200: "A page of connectors." }
  },
  "connectors.create": {
    summary: "Create or import a connector",
    description:
      "Creates the draft of a connector from its definition, or from an OpenAPI document. An import lists in `warnings` what it left out. docs/connectors.md explains the definition.",
    answers: { 201: "The draft of the connector is created." },
    example: connector
  },
  "connectors.discover": {
    summary: "Discover what a connector offers",
    description:
      "Lists the entities, actions and events of a connector, of the version that a connection uses, or of an OpenAPI document before its import.",
    answers: { 200: "Entities, actions and events." },
    example: { connector: "acme-crm" }
  },
  "connectors.get": {
    summary: "Read a connector",
    description: "Reads a connector with all parts of its definition, by id or slug.",
    answers: { 200: "The connector." }
  },
  "connectors.update": {
    summary: "Change a connector",
    description: "Replaces the draft of a connector. Its published versions stay as they are.",
    answers: { 200: "The draft of the connector." },
    example: { ...connector, version: "1.1.0", description: "Contacts of Acme" }
  },
  "connectors.delete": {
    summary: "Delete a connector",
    description:
      "Deletes a connector of the organisation with its auth providers. Built-in connectors cannot be deleted.",
    answers: { 204: "The connector is deleted." }
  },
  "connectors.publish": {
    summary: "Publish a connector",
    description: "Publishes the draft under its version, so that connections can be created with it.",
    answers: { 200: "The published connector." },
    example: { notes: "First version" }
  },
  "connectors.export": {
    summary: "Export a connector",
    description: "Answers with the definition as a file that `POST /api/v1/connectors` takes.",
    answers: { 200: "The definition, without an envelope." }
  },
  "authProviders.list": {
    summary: "List auth providers",
    description: "Lists the OAuth clients that the organisation has registered for a connector.",
    answers: { 200: "A page of auth providers." }
  },
  "authProviders.upsert": {
    summary: "Store an auth provider",
    description:
      "Stores an OAuth client under its name. Register it at the provider with `redirectUri`. The client secret is never answered.",
    answers: { 200: "The auth provider." },
    example: { name: "default", methodId: "oauth", clientId: "svc-client", clientSecret: "s3cr3t", isDefault: true }
  },
  "authProviders.delete": {
    summary: "Delete an auth provider",
    description: "Deletes an OAuth client that no connection uses.",
    answers: { 204: "The auth provider is deleted." }
  },
  "connections.list": {
    summary: "List connections",
    description: "Lists the connections that the key reaches, newest first, without credentials.",
    answers: { 200: "A page of connections." }
  },
  "connections.create": {
    summary: "Create a connection",
    description:
      "Connects a customer's account. With a credential that passes its test the connection is active at once. Without one it is pending, and `connectUrl` is a page for the customer.",
    answers: { 201: "The connection is created, active or pending." },
    example: {
      connector: "acme-crm",
      customerId: "cus_01k0000000000000000000000a",
      authMethod: "key",
      label: "Main account"
    }
  },
  "connections.get": {
    summary: "Read a connection",
    description: "Reads a connection with its health, without its credential.",
    answers: { 200: "The connection." }
  },
  "connections.update": {
    summary: "Change a connection",
    description: "Changes the label or the tags, or makes the connection its customer's default.",
    answers: { 200: "The connection after the change." },
    example: { label: "Head office", tags: { team: "sales" } }
  },
  "connections.delete": {
    summary: "Delete a connection",
    description: "Deletes a connection and its credential, and revokes the credential where the provider can.",
    answers: { 200: "The connection before it was deleted." }
  },
  "connections.test": {
    summary: "Test a connection",
    description: "Calls the provider with the connection's credential, which is refreshed first if it is due.",
    answers: { 200: "The outcome of the test." }
  },
  "connections.reconnect": {
    summary: "Reconnect a connection",
    description:
      "Replaces the credential of a connection: with the one that is sent, or through a page for the customer.",
    answers: { 200: "The connection, with the link of the page if there is one." },
    example: { redirectUrl: "https://app.example.com/connected" }
  },
  "connections.refresh": {
    summary: "Refresh a credential",
    description: "Renews the access token of a connection now.",
    answers: { 200: "The connection." }
  },
  "connections.enable": {
    summary: "Enable a connection",
    description: "Tests a disabled connection and makes it active.",
    answers: { 200: "The connection." }
  },
  "connections.disable": {
    summary: "Disable a connection",
    description: "Disables a connection: no run can use it until it is enabled.",
    answers: { 200: "The connection." }
  },
  "connections.reveal": {
    summary: "Reveal a credential",
    description: "Answers with the credential of a connection. The call is audited, and no cache may keep the answer.",
    answers: { 200: "The credential." }
  },
  "installations.list": {
    summary: "List installations",
    description: "Lists the integrations that customers have installed, newest first.",
    answers: { 200: "A page of installations." }
  },
  "installations.create": {
    summary: "Install an integration",
    description: "Installs an integration for a customer: its workflows, connections and configuration.",
    answers: { 201: "The installation is created." },
    example: {
      customerId: "cus_01k0000000000000000000000a",
      integration: "contact-sync",
      workflowIds: ["wf_000000000000"],
      config: { pageSize: 50 }
    }
  },
  "installations.get": {
    summary: "Read an installation",
    description: "Reads an installation with its configuration.",
    answers: { 200: "The installation." }
  },
  "installations.update": {
    summary: "Change an installation",
    description: "Changes the members that are sent; the others stay.",
    answers: { 200: "The installation after the change." },
    example: { config: { pageSize: 100 }, status: "paused" }
  },
  "installations.uninstall": {
    summary: "Uninstall an integration",
    description: "Uninstalls an integration of a customer. Its connections stay.",
    answers: { 204: "The integration is uninstalled." }
  }
}
