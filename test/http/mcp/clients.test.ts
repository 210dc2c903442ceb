/** The official clients of the protocol, of both lines, use the admin gateway as they are, over HTTP. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { adminTools } from "../../../src/http/mcp/admin/AdminTools.js"
import { type Running, start } from "../../support/InProcess.js"
import { adminGateway } from "../../support/mcp/Gateway.js"

let svc: Running
let url: URL
beforeAll(async () => {
  svc = await start()
  const { baseUrl } = await svc.listen()
  url = new URL(`${baseUrl}${adminGateway}?api_key=${svc.first.key}`)
})
afterAll(() => svc.stop())

interface Connected {
  readonly client: Client | EarlierClient
  readonly version: string | undefined
}

const own = { name: "a test", version: "1" }

const connectors: ReadonlyArray<readonly [what: string, connect: () => Promise<Connected>]> = [
  [
    "client 2.4.0, with a handshake",
    async () => {
      const client = new Client(own, { versionNegotiation: { mode: "legacy" } })
      await client.connect(new StreamableHTTPClientTransport(url))
      return { client, version: client.getNegotiatedProtocolVersion() }
    }
  ],
  [
    "client 2.4.0, of version 2026-07-28",
    async () => {
      const client = new Client(own, { versionNegotiation: { mode: "auto" } })
      await client.connect(new StreamableHTTPClientTransport(url))
      return { client, version: client.getNegotiatedProtocolVersion() }
    }
  ],
  [
    "sdk 1.32.2",
    async () => {
      const client = new EarlierClient(own)
      const transport = new EarlierTransport(url)
      // The types of the library's own class lack `undefined`.
      await client.connect(transport as never)
      return { client, version: transport.protocolVersion }
    }
  ]
]

const textIn = (result: object): string => String(Reflect.get(Object(Reflect.get(result, "content"))[0] ?? {}, "text"))

describe.each(connectors)("%s", (what, connect) => {
  it("connects, lists and calls tools, and reads refusals", async () => {
    const { client, version } = await connect()
    try {
      assert.strictEqual(version, what.includes("2026") ? "2026-07-28" : "2025-11-25")
      assert.include(client.getServerVersion(), { name: "svc" })
      const { tools } = await client.listTools()
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        adminTools.map(({ name }) => name)
      )
      const found = await client.callTool({ name: "svc_connector_get", arguments: { slug: "hubspot" } })
      assert.include(textIn(found), '"slug":"hubspot"')
      assert.strictEqual(Reflect.get(Object(found.structuredContent), "slug"), "hubspot")
      const refused = await client.callTool({ name: "svc_connector_get", arguments: { slug: "none" } })
      assert.isTrue(refused.isError)
      assert.include(textIn(refused), "NOT_FOUND")
      const unknown = await client.callTool({ name: "svc_none", arguments: {} }).catch((error: unknown) => error)
      assert.include(String(unknown), "svc_none")
      await client.ping().catch((error: unknown) => assert.include(what, "2026", String(error)))
    } finally {
      await client.close()
    }
  })
})
