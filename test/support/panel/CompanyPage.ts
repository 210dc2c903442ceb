/**
 * The page of a company, which shows the panel in a frame: on an origin, and a site, of its own. It keeps all messages that it
 * gets.
 */
import type { AddressInfo } from "node:net"
import type { IncomingHttpHeaders } from "node:http"
import { createTestServer } from "../httpServer.js"

/** A message that the page got. */
export interface PageMessage {
  readonly origin: string
  readonly data: {
    readonly type: string
    readonly sessionId: string
    readonly payload: Readonly<Record<string, unknown>>
  }
}

export interface CompanyPage {
  readonly origin: string
  /** The headers of the requests that it got. */
  readonly requests: ReadonlyArray<IncomingHttpHeaders>
  readonly close: () => Promise<void>
}

const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>The company's product</title>
<style>body { margin: 0 } iframe { width: 100%; height: 780px; border: 0 }</style><body><script>
const messages = []
addEventListener("message", ({ data, origin }) => messages.push({ data, origin }))
const show = (url, attributes) => {
  const frame = document.createElement("iframe")
  for (const [name, value] of Object.entries(attributes)) frame.setAttribute(name, value)
  frame.title = "Integrations"
  frame.src = url
  document.body.append(frame)
}
const post = (message, origin) => document.querySelector("iframe").contentWindow.postMessage(message, origin)
</script></body></html>`

/** Starts its server. By the name `localhost`: cookies know no ports, so that 127.0.0.1 would be the service's site. */
export const startCompanyPage = async (): Promise<CompanyPage> => {
  const requests: Array<IncomingHttpHeaders> = []
  const server = createTestServer((request, response) => {
    requests.push(request.headers)
    const isPage = request.url === "/"
    response.writeHead(isPage ? 200 : 204, { "content-type": "text/html; charset=utf-8" }).end(isPage ? page : "")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://localhost:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
