/**
 * A provider behind the proxy. A test scripts what it writes on the socket, path by path, and sees which requests are
 * open.
 */
import { type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { connect, publishConnector, startCalls, stopCalls, svc, systems } from "./calls.js"
import { eventually } from "./eventually.js"
import { createTestServer } from "./httpServer.js"

/** `nth`: the number of this request among those to the path, from 1. */
type Script = (request: IncomingMessage, response: ServerResponse, nth: number) => void

export interface FlowingProvider {
  readonly scripts: Map<string, Script>
  /** The number of requests to each path. */
  readonly asked: ReadonlyMap<string, number>
  /** Requests whose answer is not yet complete. */
  readonly open: () => number
  readonly nothingOpen: () => Promise<unknown>
  /** The address of the service. */
  readonly port: number
  readonly close: () => Promise<void>
}

/** Starts the provider and a service with a published connector of that slug and a customer who has connected it. */
export const startFlowingProvider = async (
  slug: string,
  credential: string,
  otherwise: Script = () => undefined
): Promise<FlowingProvider> => {
  await startCalls()
  const scripts = new Map<string, Script>()
  const asked = new Map<string, number>()
  let open = 0
  const server = createTestServer((request, response) => {
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
