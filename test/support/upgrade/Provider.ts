/** A provider that runs call, and counts each call by the number of its run. */
import type { AddressInfo } from "node:net"
import { createTestServer } from "../httpServer.js"

export interface Provider {
  readonly url: string
  /** How often each call came, by its path. */
  readonly calls: ReadonlyMap<string, number>
  readonly close: () => Promise<void>
}

export const startProvider = async (): Promise<Provider> => {
  const calls = new Map<string, number>()
  const server = createTestServer((request, response) => {
    const path = request.url ?? ""
    calls.set(path, (calls.get(path) ?? 0) + 1)
    request.resume().on("end", () => response.end("{}"))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
