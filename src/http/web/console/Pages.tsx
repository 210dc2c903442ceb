/** The pages of the console: their addresses, their place in the navigation, and the code that each loads when it is opened. */
import { type ComponentType, lazy } from "react"

/** Pages of one kind of record. */
export interface Section {
  readonly group: "Work" | "Connect" | "Manage" | "Account"
  readonly name: string
  /** Below `/console`. */
  readonly path: string
  /** The permission without which its pages show only what they take; absent: they are for all. */
  readonly needs?: string
  readonly page: ComponentType
  /** The prefix of its records' ids, by which the address names them, and the page of one. */
  readonly record?: readonly [prefix: string, page: ComponentType]
}

/** A page whose code is loaded when it is first shown. */
const page = <Name extends string>(load: () => Promise<{ readonly [name in Name]: ComponentType }>, name: Name) =>
  lazy(async () => ({ default: (await load())[name] }))

export const sections: ReadonlyArray<Section> = [
  { group: "Work", name: "Home", path: "/", page: page(() => import("./pages/home/Home.js"), "Home") },
  {
    group: "Work",
    name: "Runs",
    path: "/runs",
    needs: "executions:read",
    page: page(() => import("./pages/runs/Runs.js"), "Runs"),
    record: ["exec", page(() => import("./pages/runs/Run.js"), "Run")]
  },
  {
    group: "Work",
    name: "Workflows",
    path: "/workflows",
    needs: "workflows:read",
    page: page(() => import("./pages/workflows/Workflows.js"), "Workflows"),
    record: ["wf", page(() => import("./pages/workflows/Workflow.js"), "Workflow")]
  },
  {
    group: "Work",
    name: "Triggers",
    path: "/triggers",
    needs: "workflows:read",
    page: page(() => import("./pages/triggers/Triggers.js"), "Triggers"),
    record: ["trg", page(() => import("./pages/triggers/Trigger.js"), "Trigger")]
  },
  {
    group: "Work",
    name: "Events",
    path: "/events",
    needs: "events:read",
    page: page(() => import("./pages/events/Events.js"), "Events"),
    record: ["evt", page(() => import("./pages/events/Event.js"), "Event")]
  },
  {
    group: "Work",
    name: "Dead letters",
    path: "/dead-letters",
    needs: "events:read",
    page: page(() => import("./pages/deadLetters/DeadLetters.js"), "DeadLetters"),
    record: ["dlq", page(() => import("./pages/deadLetters/DeadLetter.js"), "DeadLetter")]
  },
  {
    group: "Work",
    name: "Approvals",
    path: "/approvals",
    needs: "executions:read",
    page: page(() => import("./pages/approvals/Approvals.js"), "Approvals")
  },
  {
    group: "Work",
    name: "Notifications",
    path: "/notifications",
    page: page(() => import("./pages/notifications/Notifications.js"), "Notifications")
  },
  {
    group: "Connect",
    name: "Customers",
    path: "/customers",
    needs: "users:read",
    page: page(() => import("./pages/customers/Customers.js"), "Customers"),
    record: ["cus", page(() => import("./pages/customers/Customer.js"), "Customer")]
  },
  {
    group: "Connect",
    name: "Connections",
    path: "/connections",
    needs: "connections:read",
    page: page(() => import("./pages/connections/Connections.js"), "Connections"),
    record: ["conn", page(() => import("./pages/connections/Connection.js"), "Connection")]
  },
  {
    group: "Connect",
    name: "Connectors",
    path: "/connectors",
    needs: "connectors:read",
    page: page(() => import("./pages/connectors/Connectors.js"), "Connectors"),
    record: ["ctr", page(() => import("./pages/connectors/Connector.js"), "Connector")]
  },
  {
    group: "Manage",
    name: "Releases",
    path: "/releases",
    needs: "workflows:read",
    page: page(() => import("./pages/releases/Releases.js"), "Releases"),
    record: ["rel", page(() => import("./pages/releases/Release.js"), "Release")]
  },
  {
    group: "Manage",
    name: "Environments",
    path: "/environments",
    needs: "workflows:read",
    page: page(() => import("./pages/environments/Environments.js"), "Environments")
  },
  {
    group: "Manage",
    name: "Secrets",
    path: "/secrets",
    needs: "secrets:read or secrets:write",
    page: page(() => import("./pages/secrets/Secrets.js"), "Secrets")
  },
  {
    group: "Manage",
    name: "Configuration",
    path: "/configuration",
    needs: "settings:read",
    page: page(() => import("./pages/configuration/Configuration.js"), "Configuration")
  },
  {
    group: "Manage",
    name: "Endpoints",
    path: "/endpoints",
    needs: "settings:manage",
    page: page(() => import("./pages/endpoints/Endpoints.js"), "Endpoints"),
    record: ["whe", page(() => import("./pages/endpoints/Endpoint.js"), "Endpoint")]
  },
  {
    group: "Account",
    name: "People",
    path: "/people",
    page: page(() => import("./pages/people/People.js"), "People")
  },
  {
    group: "Account",
    name: "Keys",
    path: "/keys",
    needs: "settings:read",
    page: page(() => import("./pages/keys/Keys.js"), "Keys"),
    record: ["key", page(() => import("./pages/keys/Key.js"), "Key")]
  },
  {
    group: "Account",
    name: "Audit",
    path: "/audit",
    needs: "settings:manage",
    page: page(() => import("./pages/audit/Audit.js"), "Audit")
  },
  {
    group: "Account",
    name: "Settings",
    path: "/settings",
    needs: "settings:read",
    page: page(() => import("./pages/settings/Settings.js"), "Settings")
  }
]

/** A page's address, and what it shows there. */
export interface PageRoute extends Pick<Section, "name" | "needs"> {
  readonly path: string
  readonly page: ComponentType
}

export const routes: ReadonlyArray<PageRoute> = sections.flatMap(({ record, ...section }) => [
  section,
  ...(record === undefined ? [] : [{ ...section, path: `${section.path}/:${record[0]}`, page: record[1] }])
])
