/** Connectors whose accounts tests connect: by a key that is entered, and by signing in at a certified OpenID provider. */
import type { Page } from "playwright-core"
import { startCertifiedProvider } from "../certifiedProvider.js"
import { reachByTab } from "../console/Keyboard.js"
import { type Provider, startProvider } from "../provider.js"
import type { PanelWorld } from "./PanelWorld.js"

/** The only key that the shop takes. */
export const shopKey = "the key of the shop"

/** A shop, which refuses other keys. */
export const startShop = (): Promise<Provider> =>
  startProvider(({ headers }, response) => {
    const isKnown = headers["x-shop-key"] === shopKey
    response
      .writeHead(isKnown ? 200 : 401, { "content-type": "application/json" })
      .end(JSON.stringify(isKnown ? { email: "ada@shop.example" } : { message: "this key is not known" }))
  })

/** Its connector. `more`: members that differ. */
export const shopConnector = (url: string, more: object = {}) => ({
  svcConnector: 1 as const,
  slug: "shop",
  name: "Shop",
  description: "Orders and invoices",
  kind: "ecommerce",
  version: "1.0.0",
  baseUrl: url,
  auth: [
    {
      id: "key",
      type: "api_key",
      default: true,
      fields: [{ name: "apiKey", secret: true, title: "API key", description: "It stands in the shop's settings." }],
      inject: [{ in: "header", name: "x-shop-key", value: "{{credential.apiKey}}" }]
    }
  ],
  test: { action: "me", accountLabel: "$.email" },
  actions: [{ name: "me", version: 1, request: { method: "GET", path: "/me" } }],
  ...more
})

const client = ["svc", "secret-of-svc"] as const

/** A connector of a provider at `url`, at which people sign in. */
export const signInConnector = (slug: string, name: string, url: string) => ({
  svcConnector: 1 as const,
  slug,
  name,
  kind: "crm",
  version: "1.0.0",
  baseUrl: url,
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      default: true,
      authorizationUrl: `${url}/auth`,
      tokenUrl: `${url}/token`,
      scopes: ["openid"],
      pkce: true,
      clientAuth: "basic",
      clientId: client[0],
      clientSecret: client[1]
    }
  ],
  actions: [{ name: "me", version: 1, request: { method: "GET", path: "/me" } }]
})

/** Starts a certified OpenID provider, and publishes a connector for it. `headers`: of all answers of the provider. */
export const startBoard = async (
  panels: PanelWorld,
  {
    headers = {},
    name = "Board",
    slug = "board"
  }: Readonly<{ headers?: Record<string, string>; name?: string; slug?: string }>
) => {
  let redirectUri = ""
  const provider = await startCertifiedProvider(client, () => redirectUri, headers)
  await panels.publish(signInConnector(slug, name, provider.url))
  redirectUri = (await panels.made("GET", `/connectors/${slug}`)).redirectUri
  return provider
}

/** Signs in at the provider and consents. */
export const signIn = async (provider: Page, name: string): Promise<void> => {
  await provider.fill("input[name=login]", name)
  await provider.fill("input[name=password]", "a password")
  await provider.click("button[type=submit]")
  await provider.getByRole("button", { name: "Continue" }).click()
}

/** The same by keyboard alone. */
export const signInByKeyboard = async (provider: Page, name: string): Promise<void> => {
  await reachByTab(provider, provider.locator("input[name=login]"))
  await provider.keyboard.type(name)
  await reachByTab(provider, provider.locator("input[name=password]"))
  await provider.keyboard.type("a password")
  await provider.keyboard.press("Enter")
  await reachByTab(provider, provider.locator("button[autofocus], button[type=submit]").filter({ hasText: "Continue" }))
  await provider.keyboard.press("Enter")
}

/** A provider that refuses each sign-in at once. `text`: what it says. */
export const startRefusingProvider = (text: string): Promise<Provider> =>
  startProvider(({ url }, response) => {
    const asked = new URL(url, "http://board").searchParams
    const back = new URL(asked.get("redirect_uri") ?? "http://board")
    back.searchParams.set("state", asked.get("state") ?? "")
    back.searchParams.set("error", "access_denied")
    back.searchParams.set("error_description", text)
    response.writeHead(302, { location: back.href }).end()
  })
