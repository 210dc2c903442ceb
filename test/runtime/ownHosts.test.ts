/** A node is called by the name that it listens on, and by every address of its machine, in the form of URLs. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { networkInterfaces } from "node:os"
import { NodeHosts } from "../../src/http/mcp/GatewayAddress.js"
import { layer } from "../../src/runtime/mcp/OwnHosts.js"

const isOwn = (host: string, name: string): boolean =>
  Effect.runSync(
    Effect.provide(
      Effect.map(NodeHosts, (hosts) => hosts.isOwn(name)),
      layer(host)
    )
  )

describe("a node", () => {
  it("is called by what it listens on", () => {
    assert.isTrue(isOwn("node-1.internal", "node-1.internal"))
    assert.isTrue(isOwn("Node-1.Internal", "node-1.internal"))
    assert.isTrue(isOwn("192.0.2.7", "192.0.2.7"))
    assert.isTrue(isOwn("2001:0DB8::0:7", "[2001:db8::7]"))
    assert.isFalse(isOwn("node-1.internal", "node-2.internal"))
    assert.isFalse(isOwn("192.0.2.7", "192.0.2.8"))
    assert.isFalse(isOwn("0.0.0.0", "evil.example"))
  })

  it("is called by each address of its machine, as a URL has it", () => {
    const addresses = Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address))
    assert.isNotEmpty(addresses)
    for (const address of addresses) {
      const plain = address.split("%")[0] ?? ""
      const { hostname } = new URL(plain.includes(":") ? `http://[${plain}]` : `http://${plain}`)
      assert.isTrue(isOwn("0.0.0.0", hostname), hostname)
    }
  })
})
