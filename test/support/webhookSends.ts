/** Sends to webhooks of a world as providers do, and reads what became of the events. */
import { eventually } from "./eventually.js"
import type { worldOf } from "./World.js"

export const webhookSends = (world: Pick<ReturnType<typeof worldOf>, "api">) => {
  const event = async (id: string) => (await world.api().call("GET", `/api/v1/events/${id}`)).body?.data
  return {
    event,
    /** A request as a provider sends it: without a key of the API. */
    send: async (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
      const response = await fetch(`${world.api().dev.baseUrl}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body)
      })
      const text = await response.text()
      return { status: response.status, body: text === "" ? null : JSON.parse(text), headers: response.headers }
    },
    settled: (id: string) =>
      eventually(
        () => event(id),
        (found) => found !== undefined && found.status !== "received"
      )
  }
}
