/**
 * People who use the console in a real browser. Whatever a page does that it must not, fails its test: an error in the
 * browser's console, a violation of the page's policy, a request to another host.
 */
import { type Browser, type BrowserContext, chromium, type LaunchOptions, type Page } from "playwright-core"
import { spawnSync } from "node:child_process"
import { accessSync, constants } from "node:fs"
import * as path from "node:path"
import { api } from "../api.js"
import { scaled } from "../slowness.js"

/** A person's browser, with what was wrong in it so far. */
export interface Visitor {
  readonly page: Page
  readonly context: BrowserContext
  /** Goes to a page of the console by its path. */
  readonly visit: (path: string) => Promise<void>
  /** What went wrong since the last call. */
  readonly trouble: () => ReadonlyArray<string>
  readonly close: () => Promise<void>
}

export interface VisitorOptions {
  /** The address of an invited person; absent: the owner. */
  readonly email?: string
  readonly width?: number
  readonly scheme?: "light" | "dark"
  /** Parts of the messages that a test expects in the browser's console. */
  readonly expects?: ReadonlyArray<string>
}

const bundle = path.join(import.meta.dirname, "../../../dist/svc.js")

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Chromium, as `SVC_CHROMIUM` names it or where Debian and macOS have it. */
const executable = (): string => {
  const places = [
    process.env["SVC_CHROMIUM"] ?? "",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium"
  ]
  const found = places.find(isExecutable)
  if (found === undefined)
    throw new Error("no Chromium was found: install it (apt-get install chromium), or name it in SVC_CHROMIUM")
  return found
}

/** Starts Chromium, with further arguments. */
export const startBrowser = (more: Pick<LaunchOptions, "args" | "ignoreDefaultArgs"> = {}): Promise<Browser> =>
  chromium.launch({
    ...more,
    executablePath: executable(),
    // Tests run as root in containers, whose shared memory is small.
    args: ["--no-sandbox", "--disable-dev-shm-usage", ...(more.args ?? [])]
  })

/**
 * Notes what goes wrong in all pages of a context. Returns what did since the last call.
 * `isReachable`: what pages may load; the rest is refused. `isJudged`: whether the messages of this address's scripts count.
 */
export const watchPages = async (
  context: BrowserContext,
  options: {
    readonly isReachable: (url: URL) => boolean
    readonly isJudged?: (url: string) => boolean
    readonly expects?: ReadonlyArray<string>
  }
): Promise<() => ReadonlyArray<string>> => {
  const { expects = [], isJudged = () => true, isReachable } = options
  let found: ReadonlyArray<string> = []
  const note = (text: string) => {
    if (!expects.some((part) => text.includes(part))) found = [...found, text]
  }
  await context.route(
    (url) => url.protocol.startsWith("http") && !isReachable(url),
    (route) => {
      note(`a request to ${route.request().url()}`)
      return route.abort()
    }
  )
  context.on("console", (message) => {
    const { url } = message.location()
    if ((message.type() === "error" || message.type() === "warning") && isJudged(url))
      note(`console: ${message.text()} (${url})`)
  })
  context.on("weberror", (error) => {
    const { message, stack = "" } = error.error()
    if (isJudged(/https?:\/\/\S+/.exec(stack)?.[0] ?? "")) note(`an exception: ${message}`)
  })
  context.setDefaultTimeout(scaled(60_000))
  return () => {
    const before = found
    found = []
    return before
  }
}

/** The link that the command line prints. */
export const signInLink = (dataDir: string, email?: string): string => {
  const { port } = new URL(api(dataDir).dev.baseUrl)
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [bundle, "console", ...(email === undefined ? [] : ["--email", email])],
    { env: { PATH: process.env["PATH"], SVC_DATA_DIR: dataDir, SVC_PORT: port }, encoding: "utf8" }
  )
  const [link] = /http\S+#token=\S+/.exec(stdout) ?? []
  if (link === undefined) throw new Error(`no link was printed: ${stdout} ${stderr}`)
  return link
}

/** A signed-in person on the first page of the console. */
export const visitorOf = async (browser: Browser, dataDir: string, options: VisitorOptions = {}): Promise<Visitor> => {
  const { baseUrl } = api(dataDir).dev
  const context = await browser.newContext({
    baseURL: baseUrl,
    viewport: { width: options.width ?? 1_280, height: 800 },
    colorScheme: options.scheme ?? "light",
    reducedMotion: "reduce"
  })
  const trouble = await watchPages(context, {
    // All else is unreachable: nothing may be loaded from another host.
    isReachable: ({ origin }) => origin === baseUrl,
    ...(options.expects && { expects: options.expects })
  })
  const page = await context.newPage()
  await page.goto(signInLink(dataDir, options.email))
  await page.waitForURL((url) => !url.pathname.startsWith("/login") || url.hash === "")
  await page.goto("/console/")
  await page.locator("main h1").waitFor()
  /** As its links do: the page is not loaded again. */
  const visit = async (target: string) => {
    await page.evaluate(`history.pushState(null, "", ${JSON.stringify(`/console${target}`)})`)
    await page.locator("main h1").waitFor()
  }
  return {
    page,
    context,
    visit,
    trouble,
    close: () => context.close()
  }
}
