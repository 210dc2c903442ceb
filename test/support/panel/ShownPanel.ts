/** The panel in the page of a company, in a browser that blocks third-party cookies. */
import { assert } from "@effect/vitest"
import type { Browser, BrowserContext, Frame, Locator, Page } from "playwright-core"
import { startBrowser, watchPages } from "../console/Browser.js"
import { eventually } from "../eventually.js"
import type { PageMessage } from "./CompanyPage.js"

export interface ShowOptions {
  readonly width?: number
  readonly scheme?: "light" | "dark"
  /** Of the frame. */
  readonly attributes?: Readonly<Record<string, string>>
  /** Parts of the messages that a test expects in the browser's console. */
  readonly expects?: ReadonlyArray<string>
  /** Runs in each page and frame before its own scripts. */
  readonly before?: string
}

export interface ShownPanel {
  /** The page of the company. */
  readonly page: Page
  readonly context: BrowserContext
  readonly frame: Frame
  /** The requests that the frame has sent to the API, as method and path, in order. */
  readonly calls: ReadonlyArray<string>
  /** What was written to the browser's console, in order. */
  readonly said: ReadonlyArray<string>
  /** All messages that the page got, in order; of one type if it is given. */
  readonly messages: (type?: string) => Promise<ReadonlyArray<PageMessage>>
  /** The first message of the type, once it is there. */
  readonly message: (type: string) => Promise<PageMessage>
  /** Sends a message into the frame. */
  readonly post: (type: string, payload: unknown) => Promise<void>
  readonly button: (name: string | RegExp) => Locator
  readonly field: (label: string) => Locator
  /** The list of accounts, with those whose rows have the text. */
  readonly account: (text: string) => Locator
  /** Waits until the panel shows the text. */
  readonly shows: (text: string | RegExp) => Promise<void>
  /** Waits until the heading is there. */
  readonly heading: (name: string | RegExp) => Promise<void>
  /** What a click of `open` opens. */
  readonly opened: (open: () => Promise<void>) => Promise<Page>
  /** What went wrong since the last call. */
  readonly trouble: () => ReadonlyArray<string>
  readonly close: () => Promise<void>
}

/** A browser as people have it: it blocks third-party cookies, and windows that no click opens. */
export const startStrictBrowser = (): Promise<Browser> =>
  startBrowser({ args: ["--test-third-party-cookie-phaseout"], ignoreDefaultArgs: ["--disable-popup-blocking"] })

/** What providers' pages load from elsewhere. */
const fonts = /^https:\/\/fonts\.googleapis\.com\//

/**
 * Opens the company's page with a frame of `url`. `origins`: of the service and of the company, whose pages are watched; of
 * other pages, which are of providers on this machine, nothing is judged.
 */
export const showPanel = async (
  browser: Browser,
  origins: { readonly service: string; readonly company: string },
  url: string,
  options: ShowOptions = {}
): Promise<ShownPanel> => {
  const { attributes = {}, before, expects = [], scheme = "light", width = 900 } = options
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: scheme,
    reducedMotion: "reduce"
  })
  if (before !== undefined) await context.addInitScript({ content: before })
  const ours = Object.values(origins)
  const trouble = await watchPages(context, {
    isReachable: ({ hostname }) => hostname === "127.0.0.1" || hostname === "localhost",
    isJudged: (address) => ours.some((one) => address === "" || address.startsWith(one)),
    expects
  })
  await context.route(fonts, (route) => route.fulfill({ status: 200, contentType: "text/css", body: "" }))
  const calls: Array<string> = []
  context.on("request", (request) => {
    const { origin, pathname } = new URL(request.url())
    if (origin === origins.service && pathname.startsWith("/api/") && !request.isNavigationRequest())
      calls.push(`${request.method()} ${pathname}`)
  })

  const said: Array<string> = []
  context.on("console", (message) => void said.push(message.text()))

  const page = await context.newPage()
  await page.goto(`${origins.company}/`)
  await page.evaluate(`show(${JSON.stringify(url)}, ${JSON.stringify(attributes)})`)
  const frame = (await (await page.waitForSelector("iframe")).contentFrame()) ?? assert.fail("there is no frame")

  const messages: ShownPanel["messages"] = async (type) => {
    const all = (await page.evaluate("messages")) as ReadonlyArray<PageMessage>
    return type === undefined ? all : all.filter(({ data }) => data.type === type)
  }
  return {
    page,
    context,
    frame,
    calls,
    said,
    messages,
    message: async (type) => {
      const [found] = await eventually(
        () => messages(type),
        (all) => all.length > 0
      )
      return found ?? assert.fail()
    },
    post: (type, payload) =>
      page.evaluate(`post(${JSON.stringify({ type, payload })}, ${JSON.stringify(origins.service)})`),
    button: (name) => frame.getByRole("button", { name, exact: typeof name === "string" }),
    field: (label) => frame.getByLabel(label, { exact: true }),
    account: (text) =>
      frame.locator("section").filter({ hasText: "Your accounts" }).locator("li.row").filter({ hasText: text }),
    shows: (text) => frame.getByText(text).filter({ visible: true }).first().waitFor(),
    heading: (name) => frame.getByRole("heading", { level: 1, name }).waitFor(),
    opened: async (open) => {
      const [popup] = await Promise.all([context.waitForEvent("page"), open()])
      return popup
    },
    trouble,
    close: () => context.close()
  }
}
