/** The pages of the console over the records of `Seed.ts`. */
import type { Seeded } from "./Seed.js"

export interface ConsolePage {
  readonly name: string
  /** Below `/console`. */
  readonly path: string
  /** A text that is there when the page has loaded what it shows. */
  readonly shows: string
}

export const consolePages = (seeded: Seeded): ReadonlyArray<ConsolePage> => [
  { name: "home", path: "/", shows: "Latest runs" },
  { name: "runs", path: "/runs", shows: "orders-to-books" },
  { name: "run", path: `/runs/${seeded.completed}`, shows: "post_invoice" },
  { name: "run-failed", path: `/runs/${seeded.failed}`, shows: "stock service unavailable" },
  { name: "run-waiting", path: `/runs/${seeded.waiting}`, shows: "waits for a decision" },
  { name: "run-values", path: `/runs/${seeded.completed}?tab=values`, shows: "posted" },
  { name: "run-log", path: `/runs/${seeded.completed}?tab=log`, shows: "4 orders" },
  { name: "run-about", path: `/runs/${seeded.completed}?tab=about`, shows: "Where its time went" },
  { name: "workflows", path: "/workflows", shows: "orders-to-books" },
  { name: "workflow", path: `/workflows/${seeded.workflow}`, shows: "Draft saved" },
  { name: "workflow-test", path: `/workflows/${seeded.workflow}?tab=test`, shows: "Run" },
  { name: "workflow-contracts", path: `/workflows/${seeded.workflow}?tab=contracts`, shows: "Input" },
  { name: "workflow-settings", path: `/workflows/${seeded.workflow}?tab=settings`, shows: "Name" },
  { name: "workflow-versions", path: `/workflows/${seeded.workflow}?tab=versions`, shows: "Version" },
  { name: "flow", path: `/workflows/${seeded.flow}`, shows: "Draft saved" },
  { name: "flow-test", path: `/workflows/${seeded.flow}?tab=test`, shows: "Test one step" },
  { name: "flow-diagram", path: `/workflows/${seeded.flow}?tab=diagram`, shows: "The same as a list" },
  { name: "triggers", path: "/triggers", shows: "every night" },
  { name: "trigger", path: `/triggers/${seeded.trigger}`, shows: "orders" },
  { name: "trigger-settings", path: `/triggers/${seeded.trigger}?tab=settings`, shows: "Handing over" },
  { name: "trigger-test", path: `/triggers/${seeded.trigger}?tab=test`, shows: "Send to its webhook" },
  { name: "trigger-new", path: "/triggers/new", shows: "It cannot be changed later." },
  { name: "releases", path: "/releases", shows: "release" },
  { name: "environments", path: "/environments", shows: "live" },
  { name: "events", path: "/events", shows: "webhook" },
  { name: "event", path: `/events/${seeded.event}`, shows: "S-1024" },
  { name: "dead-letters", path: "/dead-letters", shows: "CONNECTION_REQUIRED" },
  { name: "dead-letter", path: `/dead-letters/${seeded.deadLetter}`, shows: "What failed" },
  { name: "approvals", path: "/approvals", shows: "Refund 120 EUR?" },
  { name: "notifications", path: "/notifications", shows: "Severity" },
  { name: "customers", path: "/customers", shows: "Nordlicht Bikes" },
  { name: "customer", path: `/customers/${seeded.customer}`, shows: "nordlicht" },
  { name: "customer-quota", path: `/customers/${seeded.customer}?tab=quota`, shows: "events per day" },
  { name: "connections", path: "/connections", shows: "active" },
  { name: "connection", path: `/connections/${seeded.connection}`, shows: "Signs in by" },
  { name: "connectors", path: "/connectors", shows: "Shop" },
  { name: "connector", path: "/connectors/shop", shows: "post_invoice" },
  { name: "secrets", path: "/secrets", shows: "ERP_TOKEN" },
  { name: "configuration", path: "/configuration", shows: "Values set here" },
  { name: "endpoints", path: "/endpoints", shows: "hooks.example.com" },
  { name: "endpoint", path: `/endpoints/${seeded.endpoint}`, shows: "execution.failed" },
  { name: "people", path: "/people", shows: "ada@example.com" },
  { name: "roles", path: "/people?tab=roles", shows: "developer" },
  { name: "sessions", path: "/people?tab=sessions", shows: "(this one)" },
  { name: "keys", path: "/keys", shows: "shop backend" },
  { name: "key", path: `/keys/${seeded.key}`, shows: "Permissions" },
  // What people read is counted in entries of its own, which may be more than a page.
  { name: "audit", path: "/audit?actor_type=service_account", shows: "(service account)" },
  { name: "settings", path: "/settings", shows: "Workspaces" },
  { name: "plan", path: "/settings?tab=plan", shows: "Use by day" },
  { name: "service", path: "/settings?tab=service", shows: "Nodes" }
]
