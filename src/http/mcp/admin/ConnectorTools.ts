/** The admin gateway's tools on connectors as a whole. Contract: tool gateways, admin tools. */
import { operationOf } from "../../operations/Surfaces.js"
import type { OperationTool } from "../OperationTool.js"
import {
  boolean,
  choice,
  connector,
  connectorVersion,
  cursor,
  kind,
  limit,
  object,
  optional,
  revision,
  source,
  text
} from "./ToolArguments.js"

const ofConnector = { slug: { path: "ctr" } } as const

const definition =
  "The connector definition: svcConnector 1, slug, name, kind, version, baseUrl, auth (a list), actions (a list), and what else the format has. svc_connector_export of a connector shows the form."

export const connectorTools: ReadonlyArray<OperationTool> = [
  {
    name: "svc_connector_list",
    title: "List connectors",
    description:
      "Lists the built-in connectors and those of the organisation, with the names of their actions and events.",
    arguments: { search: optional(text("Words in the name, slug or description.")), kind, cursor, limit },
    uses: [
      {
        operation: operationOf("connectors.list"),
        places: {
          search: { query: "q" },
          kind: { query: "kind" },
          cursor: { query: "cursor" },
          limit: { query: "page_size" }
        }
      }
    ]
  },
  {
    name: "svc_connector_get",
    title: "Read a connector",
    description: "Reads a connector with all parts of its definition. `revision` counts its changes.",
    arguments: { slug: connector, version: connectorVersion },
    uses: [{ operation: operationOf("connectors.get"), places: { ...ofConnector, version: { query: "version" } } }]
  },
  {
    name: "svc_connector_create",
    title: "Create a connector",
    description: "Creates the draft of a connector from its definition. A refusal names each mistake by its path.",
    arguments: { definition: object(definition) },
    uses: [{ operation: operationOf("connectors.create"), places: { definition: "wholeBody" } }]
  },
  {
    name: "svc_connector_update",
    title: "Change a connector",
    description:
      "Changes the draft of a connector by a JSON merge patch: members replace those of the definition, null removes one, and lists are replaced as a whole. Published versions stay as they are.",
    arguments: { slug: connector, patch: object("The merge patch of the definition."), version: revision },
    uses: [
      {
        operation: operationOf("connectors.patch"),
        places: { ...ofConnector, patch: "wholeBody", version: "version" }
      }
    ]
  },
  {
    name: "svc_connector_delete",
    title: "Delete a connector",
    description:
      "Deletes a connector of the organisation with its OAuth clients. Built-in connectors cannot be deleted.",
    arguments: { slug: connector },
    uses: [{ operation: operationOf("connectors.delete"), places: ofConnector }],
    isDestructive: true
  },
  {
    name: "svc_connector_import",
    title: "Import a connector",
    description:
      "Creates the draft of a connector from an exported definition, an OpenAPI document or a Postman collection (v2.1). `warnings` say what was left out. With dryRun nothing is stored.",
    arguments: {
      format: choice(["svc", "openapi", "postman"], "What the document is."),
      source,
      slug: optional(text("The slug of the new connector. Left out: the document's.")),
      dryRun: optional(boolean("Only shows the definition that would be stored."))
    },
    uses: [
      {
        operation: operationOf("connectors.create"),
        places: {
          format: { body: "import.format" },
          source: { body: "import.source" },
          slug: { body: "import.slug" },
          dryRun: { body: "import.dryRun" }
        }
      }
    ]
  },
  {
    name: "svc_connector_export",
    title: "Export a connector",
    description:
      "Answers with the definition of a connector, as svc_connector_create and svc_connector_import take it.",
    arguments: { slug: connector, version: connectorVersion },
    uses: [{ operation: operationOf("connectors.export"), places: { ...ofConnector, version: { query: "version" } } }]
  },
  {
    name: "svc_connector_publish_version",
    title: "Publish a connector",
    description:
      "Gives the draft this version and publishes it, so that connections can be created with it. A published version never changes.",
    arguments: {
      slug: connector,
      version: text("MAJOR.MINOR.PATCH, above the published version."),
      notes: optional(text("What has changed, for those who read the versions."))
    },
    uses: [
      {
        operation: operationOf("connectors.publish"),
        places: { ...ofConnector, version: { body: "version" }, notes: { body: "notes" } }
      }
    ]
  },
  {
    name: "svc_connector_discover",
    title: "Discover what a connector offers",
    description:
      "Lists the entities, actions and events of a connector, with the schemas of the actions' inputs, and how much of each common model its maps fill.",
    arguments: { slug: connector },
    uses: [{ operation: operationOf("connectors.discover"), places: { slug: { body: "connector" } } }]
  }
]
