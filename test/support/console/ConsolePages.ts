/** The pages of the console, over the records of `Seed.ts` and some that one page alone shows. */
import type { Api } from "../api.js"
import { eventually } from "../eventually.js"
import { createBy, type Seeded } from "./Seed.js"

export interface ConsolePage {
  readonly name: string
  /** Below `/console`. */
  readonly path: string
  /** A text that is there when the page has loaded what it shows. */
  readonly shows: string
  /** The permission that it takes; absent: it is for all. */
  readonly needs?: string
}

const taking = (needs: string, pages: ReadonlyArray<ConsolePage>): ReadonlyArray<ConsolePage> =>
  pages.map((page) => ({ ...page, needs }))

/** All pages, once the records are there that they show. */
export const consolePages = async (client: Api, seeded: Seeded): Promise<ReadonlyArray<ConsolePage>> => {
  const { completed, flow, trigger, workflow } = seeded
  const { call } = client
  const create = createBy(client)
  await create("/api/v1/releases", {})
  await create("/api/v1/secrets", { name: "ERP_TOKEN", value: "a secret of the seed" })
  await create("/api/v1/config", { level: "saas", scopeId: null, key: "env.REGION", value: "eu" }, "PUT")
  await create("/api/v1/users/invite", { email: "ada@example.com", role: "developer", name: "Ada Lovelace" })
  const endpoints = "/api/v1/webhook-endpoints"
  const endpoint = await create(endpoints, { url: "https://hooks.example.com/svc", events: ["execution.failed"] })
  await call("POST", `${endpoints}/${endpoint.id}/test`, {})
  await eventually(
    async () => (await call("GET", `${endpoints}/${endpoint.id}/attempts`)).body?.data ?? [],
    (found) => found.length > 0
  )
  return [
    { name: "home", path: "/", shows: "Latest runs" },
    ...taking("executions:read", [
      { name: "runs", path: "/runs", shows: "orders-to-books" },
      { name: "run", path: `/runs/${completed}`, shows: "post_invoice" },
      { name: "run-failed", path: `/runs/${seeded.failed}`, shows: "stock service unavailable" },
      { name: "run-waiting", path: `/runs/${seeded.waiting}`, shows: "waits for a decision" },
      { name: "run-values", path: `/runs/${completed}?tab=values`, shows: "posted" },
      { name: "run-log", path: `/runs/${completed}?tab=log`, shows: "4 orders" },
      { name: "run-about", path: `/runs/${completed}?tab=about`, shows: "Where its time went" },
      { name: "approvals", path: "/approvals", shows: "Refund 120 EUR?" }
    ]),
    ...taking("workflows:read", [
      { name: "workflows", path: "/workflows", shows: "orders-to-books" },
      { name: "workflow", path: `/workflows/${workflow}`, shows: "Draft saved" },
      { name: "workflow-test", path: `/workflows/${workflow}?tab=test`, shows: "Run" },
      { name: "workflow-contracts", path: `/workflows/${workflow}?tab=contracts`, shows: "Input" },
      { name: "workflow-settings", path: `/workflows/${workflow}?tab=settings`, shows: "Name" },
      { name: "workflow-versions", path: `/workflows/${workflow}?tab=versions`, shows: "Version" },
      { name: "flow", path: `/workflows/${flow}`, shows: "Draft saved" },
      { name: "flow-test", path: `/workflows/${flow}?tab=test`, shows: "Test one step" },
      { name: "flow-diagram", path: `/workflows/${flow}?tab=diagram`, shows: "The same as a list" },
      { name: "triggers", path: "/triggers", shows: "every night" },
      { name: "trigger", path: `/triggers/${trigger}`, shows: "orders" },
      { name: "trigger-settings", path: `/triggers/${trigger}?tab=settings`, shows: "Handing over" },
      { name: "trigger-test", path: `/triggers/${trigger}?tab=test`, shows: "Send to its webhook" },
      { name: "trigger-new", path: "/triggers/new", shows: "It cannot be changed later." },
      { name: "releases", path: "/releases", shows: "release" },
      { name: "environments", path: "/environments", shows: "live" }
    ]),
    ...taking("events:read", [
      { name: "events", path: "/events", shows: "webhook" },
      { name: "event", path: `/events/${seeded.event}`, shows: "S-1024" },
      { name: "dead-letters", path: "/dead-letters", shows: "CONNECTION_REQUIRED" },
      { name: "dead-letter", path: `/dead-letters/${seeded.deadLetter}`, shows: "What failed" }
    ]),
    { name: "notifications", path: "/notifications", shows: "Severity" },
    ...taking("users:read", [
      { name: "customers", path: "/customers", shows: "Nordlicht Bikes" },
      { name: "customer", path: `/customers/${seeded.customer}`, shows: "nordlicht" },
      { name: "customer-quota", path: `/customers/${seeded.customer}?tab=quota`, shows: "events per day" }
    ]),
    ...taking("connections:read", [
      { name: "connections", path: "/connections", shows: "active" },
      { name: "connection", path: `/connections/${seeded.connection}`, shows: "Signs in by" }
    ]),
    ...taking("connectors:read", [
      { name: "connectors", path: "/connectors", shows: "Shop" },
      { name: "connector", path: "/connectors/shop", shows: "post_invoice" }
    ]),
    { name: "secrets", path: "/secrets", shows: "ERP_TOKEN", needs: "secrets:read" },
    { name: "people", path: "/people", shows: "ada@example.com" },
    { name: "roles", path: "/people?tab=roles", shows: "developer" },
    { name: "sessions", path: "/people?tab=sessions", shows: "(this one)" },
    ...taking("settings:read", [
      { name: "configuration", path: "/configuration", shows: "Values set here" },
      { name: "keys", path: "/keys", shows: "shop backend" },
      { name: "key", path: `/keys/${seeded.key}`, shows: "Permissions" },
      { name: "settings", path: "/settings", shows: "Workspaces" },
      { name: "plan", path: "/settings?tab=plan", shows: "Use by day" },
      { name: "service", path: "/settings?tab=service", shows: "Nodes" }
    ]),
    ...taking("settings:manage", [
      { name: "endpoints", path: "/endpoints", shows: "hooks.example.com" },
      { name: "endpoint", path: `/endpoints/${endpoint.id}`, shows: "execution.failed" },
      // What people read is counted in entries of its own, which may be more than a page.
      { name: "audit", path: "/audit?actor_type=service_account", shows: "(service account)" }
    ])
  ]
}
