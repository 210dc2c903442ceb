/** The pages of the console: their addresses, their place in the navigation, and the code that each loads when it is opened. */
import { type ComponentType, lazy } from "react"

export interface PageEntry {
  /** Below `/console`. */
  readonly path: string
  readonly page: ComponentType
  /** Its name and group in the navigation; pages of one record have none. */
  readonly name?: string
  readonly group?: "Work" | "Connect" | "Manage" | "Account"
  /** The permission without which the navigation shows it as closed. */
  readonly needs?: string
}

/** A page whose code is loaded when it is first shown. */
const page = <Name extends string>(load: () => Promise<{ readonly [name in Name]: ComponentType }>, name: Name) =>
  lazy(async () => ({ default: (await load())[name] }))

const work: ReadonlyArray<PageEntry> = [
  { path: "/", name: "Home", page: page(() => import("./pages/home/Home.js"), "Home") },
  { path: "/runs", name: "Runs", needs: "executions:read", page: page(() => import("./pages/runs/Runs.js"), "Runs") },
  { path: "/runs/:eid", page: page(() => import("./pages/runs/Run.js"), "Run") },
  {
    path: "/workflows",
    name: "Workflows",
    needs: "workflows:read",
    page: page(() => import("./pages/workflows/Workflows.js"), "Workflows")
  },
  { path: "/workflows/:wid", page: page(() => import("./pages/workflows/Workflow.js"), "Workflow") },
  {
    path: "/events",
    name: "Events",
    needs: "events:read",
    page: page(() => import("./pages/events/Events.js"), "Events")
  },
  { path: "/events/:evt", page: page(() => import("./pages/events/Event.js"), "Event") },
  {
    path: "/dead-letters",
    name: "Dead letters",
    needs: "events:read",
    page: page(() => import("./pages/deadLetters/DeadLetters.js"), "DeadLetters")
  },
  { path: "/dead-letters/:dlq", page: page(() => import("./pages/deadLetters/DeadLetter.js"), "DeadLetter") },
  {
    path: "/approvals",
    name: "Approvals",
    needs: "executions:read",
    page: page(() => import("./pages/approvals/Approvals.js"), "Approvals")
  },
  {
    path: "/notifications",
    name: "Notifications",
    page: page(() => import("./pages/notifications/Notifications.js"), "Notifications")
  }
]

const connect: ReadonlyArray<PageEntry> = [
  {
    path: "/customers",
    name: "Customers",
    needs: "users:read",
    page: page(() => import("./pages/customers/Customers.js"), "Customers")
  },
  { path: "/customers/:cid", page: page(() => import("./pages/customers/Customer.js"), "Customer") },
  {
    path: "/connections",
    name: "Connections",
    needs: "connections:read",
    page: page(() => import("./pages/connections/Connections.js"), "Connections")
  },
  { path: "/connections/:conn", page: page(() => import("./pages/connections/Connection.js"), "Connection") },
  {
    path: "/connectors",
    name: "Connectors",
    needs: "connectors:read",
    page: page(() => import("./pages/connectors/Connectors.js"), "Connectors")
  },
  { path: "/connectors/:ctr", page: page(() => import("./pages/connectors/Connector.js"), "Connector") }
]

const manage: ReadonlyArray<PageEntry> = [
  {
    path: "/secrets",
    name: "Secrets",
    needs: "secrets:write",
    page: page(() => import("./pages/secrets/Secrets.js"), "Secrets")
  },
  {
    path: "/configuration",
    name: "Configuration",
    needs: "settings:read",
    page: page(() => import("./pages/configuration/Configuration.js"), "Configuration")
  },
  {
    path: "/endpoints",
    name: "Endpoints",
    needs: "settings:manage",
    page: page(() => import("./pages/endpoints/Endpoints.js"), "Endpoints")
  },
  { path: "/endpoints/:whe", page: page(() => import("./pages/endpoints/Endpoint.js"), "Endpoint") }
]

const account: ReadonlyArray<PageEntry> = [
  { path: "/people", name: "People", page: page(() => import("./pages/people/People.js"), "People") },
  { path: "/keys", name: "Keys", needs: "settings:read", page: page(() => import("./pages/keys/Keys.js"), "Keys") },
  { path: "/keys/:kid", page: page(() => import("./pages/keys/Key.js"), "Key") },
  {
    path: "/audit",
    name: "Audit",
    needs: "settings:manage",
    page: page(() => import("./pages/audit/Audit.js"), "Audit")
  },
  {
    path: "/settings",
    name: "Settings",
    needs: "settings:read",
    page: page(() => import("./pages/settings/Settings.js"), "Settings")
  }
]

const grouped = (group: NonNullable<PageEntry["group"]>, entries: ReadonlyArray<PageEntry>): ReadonlyArray<PageEntry> =>
  entries.map((entry) => ({ ...entry, group }))

export const pages: ReadonlyArray<PageEntry> = [
  ...grouped("Work", work),
  ...grouped("Connect", connect),
  ...grouped("Manage", manage),
  ...grouped("Account", account)
]
