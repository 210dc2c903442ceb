/** The admin gateway's tools on customers' connections. Contract: tool gateways, admin tools. */
import { operationOf } from "../../operations/Surfaces.js"
import type { OperationTool } from "../OperationTool.js"
import { boolean, connectionId, connector, cursor, customerId, optional, status, text } from "./ToolArguments.js"

const ofConnection = { connectionId: { path: "conn" } } as const

export const connectionTools: ReadonlyArray<OperationTool> = [
  {
    name: "svc_connection_list",
    title: "List connections",
    description: "Lists customers' connections with their states, newest first, without credentials.",
    arguments: { customerId: optional(customerId), connector: optional(connector), status, cursor },
    uses: [
      {
        operation: operationOf("connections.list"),
        places: {
          customerId: { query: "customer_id" },
          connector: { query: "connector" },
          status: { query: "status" },
          cursor: { query: "cursor" }
        }
      }
    ]
  },
  {
    name: "svc_connection_get",
    title: "Read a connection",
    description: "Reads a connection with its state and health, without its credential.",
    arguments: { connectionId },
    uses: [{ operation: operationOf("connections.get"), places: ofConnection }]
  },
  {
    name: "svc_connection_create_link",
    title: "Make a link to connect an account",
    description:
      "Makes a link, `connectUrl`, with which the customer connects an account, or with `reconnect` connects it again, which also needs connections:update. It ends after 15 minutes.",
    arguments: {
      customerId,
      connector,
      authMethod: optional(text("The id of the connector's method; left out: its default one.")),
      reconnect: optional(text("The id of the connection to connect again; of this customer and connector."))
    },
    uses: [
      {
        when: "reconnect",
        operation: operationOf("connections.reconnect"),
        places: {
          reconnect: { path: "conn" },
          customerId: { body: "customerId" },
          connector: { body: "connector" },
          authMethod: { body: "authMethod" }
        }
      },
      {
        operation: operationOf("connections.create"),
        places: {
          customerId: { body: "customerId" },
          connector: { body: "connector" },
          authMethod: { body: "authMethod" }
        }
      }
    ]
  },
  {
    name: "svc_connection_test",
    title: "Test a connection",
    description: "Calls the provider with the connection's credential, which is refreshed first if it is due.",
    arguments: { connectionId },
    uses: [{ operation: operationOf("connections.test"), places: ofConnection }],
    isOpenWorld: true
  },
  {
    name: "svc_connection_refresh",
    title: "Refresh a credential",
    description: "Renews the access token of a connection if it is due.",
    arguments: { connectionId, force: optional(boolean("Renew it now, also if it is not due.")) },
    uses: [
      {
        operation: operationOf("connections.refresh"),
        places: { ...ofConnection, force: { query: "force" } },
        query: { force: "false" }
      }
    ],
    isOpenWorld: true
  },
  {
    name: "svc_connection_disconnect",
    title: "Disconnect an account",
    description: "Deletes a connection and its credential for good, and revokes the credential where the provider can.",
    arguments: {
      connectionId,
      revokeAtProvider: optional(boolean("false: the credential is deleted here, and not revoked at the provider."))
    },
    uses: [
      {
        operation: operationOf("connections.delete"),
        places: { ...ofConnection, revokeAtProvider: { query: "revoke" } }
      }
    ],
    isDestructive: true
  }
]
