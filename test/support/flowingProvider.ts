/** A provider behind the proxy that a test scripts on the bare connection, path by path: what flows, and what is still open. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { connect, publishConnector, startCalls, stopCalls, svc, systems } from "./calls.js"
import { eventually } from "./eventually.js"

/** `nth`: how often the path was asked by now, from one. */
type Script = (request: IncomingMessage, response: ServerResponse, nth: number) => void

export interface FlowingProvider {
  readonly scripts: Map<string, Script>
  /** How often each path was asked. */
  readonly asked: ReadonlyMap<string, number>
  /** Requests that have not been answered to their end. */
  readonly open: () => number
  readonly nothingOpen: () => Promise<unknown>
  /** Where the service listens. */
  readonly port: number
  readonly close: () => Promise<void>
}

/** With a service, a published connector of that slug, and a customer who has connected it. */
export const flowingProvider = async (
  slug: string,
  credential: string,
  otherwise: Script = () => undefined
): Promise<FlowingProvider> => {
  await startCalls()
  const scripts = new Map<string, Script>()
  const asked = new Map<string, number>()
  let open = 0
  const server = createServer((request, response) => {
    const path = request.url ?? ""
    const nth = (asked.get(path) ?? 0) + 1
    asked.set(path, nth)
    open += 1
    response.once("close", () => {
      open -= 1
    })
    request.on("error", () => undefined)
    const script = scripts.get(path) ?? otherwise
    script(request, response, nth)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  Object.assign(systems, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  await publishConnector(slug)
  await connect(slug, credential)
  const { port } = await svc.listen()
  return {
    scripts,
    asked,
    port,
    open: () => open,
    nothingOpen: () =>
      eventually(
        async () => open,
        (count) => count === 0
      ),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await stopCalls()
    }
  }
}
