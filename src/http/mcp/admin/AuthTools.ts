/** The admin gateway's tools on ways to authenticate: a connector's methods, and the organisation's OAuth clients. */
import { operationOf } from "../../operations/Surfaces.js"
import type { OperationTool } from "../OperationTool.js"
import { connector, object, optional, text, texts } from "./ToolArguments.js"

const ofConnector = { connector: { path: "ctr" } } as const
const ofMethod = { ...ofConnector, methodId: { path: "mtd" } } as const
const methodId = text("The id of the method in the definition's `auth`.")

export const authTools: ReadonlyArray<OperationTool> = [
  {
    name: "svc_auth_method_list",
    title: "List auth methods",
    description: "Lists the ways to authenticate of a connector's draft.",
    arguments: { connector },
    uses: [{ operation: operationOf("authMethods.list"), places: ofConnector }]
  },
  {
    name: "svc_auth_method_create",
    title: "Add an auth method",
    description: "Adds a way to authenticate to the draft of a connector.",
    arguments: {
      connector,
      method: object("The method: id, type (oauth2, api_key, basic, …) and the members of its type.")
    },
    uses: [{ operation: operationOf("authMethods.create"), places: { ...ofConnector, method: "wholeBody" } }]
  },
  {
    name: "svc_auth_method_update",
    title: "Change an auth method",
    description: "Changes a way to authenticate of the draft by a JSON merge patch.",
    arguments: { connector, methodId, patch: object("The merge patch of the method.") },
    uses: [{ operation: operationOf("authMethods.update"), places: { ...ofMethod, patch: "wholeBody" } }]
  },
  {
    name: "svc_auth_method_delete",
    title: "Remove an auth method",
    description: "Removes a way to authenticate from the draft of a connector.",
    arguments: { connector, methodId },
    uses: [{ operation: operationOf("authMethods.delete"), places: ofMethod }],
    isDestructive: true
  },
  {
    name: "svc_auth_method_set_default",
    title: "Choose the default auth method",
    description:
      "Makes a way to authenticate the one that connections of the next version use unless they name another.",
    arguments: { connector, methodId },
    uses: [{ operation: operationOf("authMethods.setDefault"), places: ofMethod }]
  },
  {
    name: "svc_auth_provider_list",
    title: "List OAuth clients",
    description: "Lists the OAuth clients that the organisation has registered for a connector, without their secrets.",
    arguments: { connector },
    uses: [{ operation: operationOf("authProviders.list"), places: ofConnector }]
  },
  {
    name: "svc_auth_provider_upsert",
    title: "Store an OAuth client",
    description:
      "Stores an OAuth client of the organisation under its name. Register it at the provider with the `redirectUri` of the answer. The secret is never answered.",
    arguments: {
      connector,
      name: text("The client's name in svc."),
      clientId: text("The client's id at the provider."),
      clientSecret: optional(text("The client's secret; left out: the stored one stays.")),
      clientSecretName: optional(
        text("Instead of clientSecret: the name of the organisation's secret that has it. It also needs secrets:read.")
      ),
      scopes: optional(texts("The scopes to ask for.")),
      methodId: optional(text("The OAuth2 method of the connector; left out: its default one."))
    },
    uses: [
      {
        operation: operationOf("authProviders.upsert"),
        places: {
          ...ofConnector,
          name: { body: "name" },
          clientId: { body: "clientId" },
          clientSecret: { body: "clientSecret" },
          clientSecretName: { body: "clientSecretName" },
          scopes: { body: "scopes" },
          methodId: { body: "methodId" }
        }
      }
    ]
  },
  {
    name: "svc_auth_provider_delete",
    title: "Delete an OAuth client",
    description: "Deletes an OAuth client that no connection uses.",
    arguments: { connector, providerId: text("The client's id, as in aup_….") },
    uses: [{ operation: operationOf("authProviders.delete"), places: { ...ofConnector, providerId: { path: "aid" } } }],
    isDestructive: true
  }
]
