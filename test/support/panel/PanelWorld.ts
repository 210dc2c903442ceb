/** A service with a company that shows its panel, for one test file: mints sessions as its backend does, and shows them. */
import { assert } from "@effect/vitest"
import type { Browser } from "playwright-core"
import { connectEmbedded } from "../embeddedPostgres.js"
import { type World, worldOf } from "../World.js"
import { type CompanyPage, startCompanyPage } from "./CompanyPage.js"
import { showPanel, type ShownPanel, type ShowOptions, startStrictBrowser } from "./ShownPanel.js"

/** A session, as the company's backend gets it. */
export interface MintedSession {
  readonly token: string
  readonly sessionId: string
  readonly iframeUrl: string
}

/** A customer, with a key that reaches it alone. */
export interface PanelCustomer {
  readonly id: string
  readonly key: string
  readonly mint: (body?: object) => Promise<MintedSession>
  /** Shows the panel of a new session. */
  readonly show: (body?: object, options?: ShowOptions) => Promise<ShownPanel & { readonly session: MintedSession }>
  /** Creates a connection, as the company's backend does. */
  readonly connect: (body: object) => Promise<string>
}

export interface PanelWorld {
  readonly world: World
  readonly company: () => CompanyPage
  readonly browser: () => Browser
  readonly customer: () => Promise<PanelCustomer>
  /** Shows the address in a frame. */
  readonly show: (url: string, options?: ShowOptions) => Promise<ShownPanel>
  /** Calls the API with the key of the first start; fails if it refuses. Returns what the answer shows of a record. */
  readonly made: (method: string, target: string, body?: object) => Promise<any> // oxlint-disable-line typescript/no-explicit-any
  /** Creates and publishes a connector. */
  readonly publish: (definition: { readonly slug: string }) => Promise<void>
  /** Runs a statement in the service's database. */
  readonly sql: (text: string, params?: ReadonlyArray<unknown>) => Promise<void>
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  /** Ends the browsers of a test, and fails it if anything went wrong in one. */
  readonly check: () => Promise<void>
}

export const panelWorldOf = (options: Omit<Parameters<typeof worldOf>[0], "allow"> = {}): PanelWorld => {
  const world = worldOf({ allow: true, ...options })
  let running: { readonly browser: Browser; readonly company: CompanyPage } | undefined
  let shown: ReadonlyArray<ShownPanel> = []
  let customers = 0

  const started = () => running ?? assert.fail("not started")
  const made: PanelWorld["made"] = async (method, target, body) => {
    const answer = await world.api().call(method, `/api/v1${target}`, body)
    assert.isBelow(answer.status, 300, `${method} ${target}: ${JSON.stringify(answer.body)}`)
    return answer.body?.data
  }

  const show: PanelWorld["show"] = async (url, more) => {
    const { browser, company } = started()
    const panel = await showPanel(
      browser,
      { service: world.api().dev.baseUrl, company: company.origin },
      new URL(url, world.api().dev.baseUrl).href,
      more
    )
    shown = [...shown, panel]
    return panel
  }

  const customer = async (): Promise<PanelCustomer> => {
    const { id } = await made("POST", "/customers", { name: `Customer ${(customers += 1)}` })
    const { key } = await made("POST", "/api-keys", {
      name: `panel of ${id}`,
      mode: "live",
      preset: "end_user",
      customers: { mode: "subset", ids: [id] }
    })
    const mint: PanelCustomer["mint"] = async (body = {}) => {
      const sent = { endOrgId: id, allowedOrigins: [started().company.origin], ...body }
      const { call } = world.api()
      const answer = await call("POST", "/api/v1/embed/token", sent, { authorization: `Bearer ${key}` })
      assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
      return answer.body
    }
    return {
      id,
      key,
      mint,
      show: async (body, more) => {
        const session = await mint(body)
        return { session, ...(await show(session.iframeUrl, more)) }
      },
      connect: async (body) => (await made("POST", "/connections", { customerId: id, ...body })).id
    }
  }

  return {
    world,
    company: () => started().company,
    browser: () => started().browser,
    customer,
    show,
    made,
    publish: async (definition) => {
      await made("POST", "/connectors", definition)
      await made("POST", `/connectors/${definition.slug}/publish`, {})
    },
    sql: async (text, params = []) => {
      const client = await connectEmbedded(world.dataDir)
      await client.query(text, [...params]).finally(() => client.end())
    },
    start: async () => {
      await world.start()
      running = { browser: await startStrictBrowser(), company: await startCompanyPage() }
    },
    stop: async () => {
      await running?.browser.close()
      await running?.company.close()
      await world.stop()
    },
    check: async () => {
      const before = shown
      shown = []
      const found = before.flatMap(({ trouble }) => trouble())
      for (const { close } of before) await close()
      assert.deepStrictEqual(found, [])
    }
  }
}
