/** The admin gateway's tools on the actions of a connector's draft. Contract: tool gateways, admin tools. */
import { operationOf } from "../../operations/Surfaces.js"
import type { OperationTool } from "../OperationTool.js"
import { boolean, connectionId, connector, integer, object, optional, text } from "./ToolArguments.js"

const ofConnector = { connector: { path: "ctr" } } as const
const ofAction = { ...ofConnector, action: { path: "act" } } as const
const action = text("The action's name.")
const definition = object(
  "The action: name, title, request (method, path, …), inputSchema, outputSchema and what else it needs."
)

export const actionTools: ReadonlyArray<OperationTool> = [
  {
    name: "svc_action_list",
    title: "List actions",
    description: "Lists the actions of a connector's draft with their versions; svc_action_get reads one in full.",
    arguments: { connector },
    uses: [{ operation: operationOf("actions.list"), places: ofConnector }]
  },
  {
    name: "svc_action_get",
    title: "Read an action",
    description: "Reads the definition of an action: its request, schemas, pagination and mocks.",
    arguments: {
      connector,
      action,
      version: optional(integer("A version of the action. Left out: the draft's, or the newest without a draft."))
    },
    uses: [{ operation: operationOf("actions.get"), places: { ...ofAction, version: { query: "version" } } }]
  },
  {
    name: "svc_action_create",
    title: "Add an action",
    description: "Adds an action to the draft of a connector. A refusal names each mistake by its path.",
    arguments: { connector, action: definition },
    uses: [{ operation: operationOf("actions.create"), places: { ...ofConnector, action: "wholeBody" } }]
  },
  {
    name: "svc_action_update",
    title: "Change an action",
    description:
      "Changes an action of the draft by a JSON merge patch: null removes a member, lists are replaced as a whole.",
    arguments: { connector, action, patch: object("The merge patch of the action.") },
    uses: [{ operation: operationOf("actions.update"), places: { ...ofAction, patch: "wholeBody" } }]
  },
  {
    name: "svc_action_delete",
    title: "Remove an action",
    description: "Removes an action from the draft. Workflows that are bound to a published version keep it.",
    arguments: { connector, action },
    uses: [{ operation: operationOf("actions.delete"), places: ofAction }],
    isDestructive: true
  },
  {
    name: "svc_action_test",
    title: "Test an action of the draft",
    description:
      "Calls the provider with an action of the draft and a connection of this connector, or with mock answers with the action's first mock. The credential goes only where the connection's own version sends it.",
    arguments: {
      connector,
      action,
      connectionId: optional(connectionId),
      args: object("The arguments of the action, by its inputSchema."),
      mock: optional(boolean("Answers with the action's mock, without a connection."))
    },
    uses: [
      {
        operation: operationOf("actionTests.run"),
        places: {
          ...ofAction,
          connectionId: { body: "connectionId" },
          args: { body: "args" },
          mock: { body: "mock" }
        }
      }
    ],
    isOpenWorld: true
  },
  {
    name: "svc_action_new_version",
    title: "Write a new version of an action",
    description: "Replaces an action of the draft by a definition, as the version above the published one.",
    arguments: { connector, action, definition },
    uses: [{ operation: operationOf("actions.newVersion"), places: { ...ofAction, definition: "wholeBody" } }]
  },
  {
    name: "svc_action_list_versions",
    title: "List the versions of an action",
    description: "Lists the versions of an action, newest first, with the connector version that has each first.",
    arguments: { connector, action },
    uses: [{ operation: operationOf("actions.versions"), places: ofAction }]
  }
]
