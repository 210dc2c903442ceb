/** Addresses and networks are read the same way everywhere: by one parser, which takes no ambiguous spelling. */
import { type Config, ConfigProvider, Effect, Either } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { settingTable } from "../../src/runtime/configuration/SettingTable.js"
import { isAllowed, parseAllowList, whyBlocked } from "../../src/runtime/egress/Address.js"
import { make } from "../../src/runtime/process/Addresses.js"
import { isHost, parseAddress, parseNetwork } from "../../src/runtime/process/IpAddress.js"

/** Some readers take these for 8.0.0.1, 10.0.0.1 or 1.2.0.3. */
const ambiguous =
  "010.0.0.1|10.0.0.01|1.2.3|1.2|10|167772161|0xa.0.0.1|0x0a000001|012.0.0.1|00.0.0.0|1.2.3.4.5|1.2.3.256|1.2.3.|.1.2.3|1..2.3| 10.0.0.1|10.0.0.1 |::ffff:010.0.0.1|1.2.3.4%a".split(
    "|"
  )
const plain = ["10.0.0.1", "0.0.0.0", "255.255.255.255", "::1", "2001:db8::1", "::ffff:10.0.0.1"]

const read = (setting: { readonly config: Config.Config<unknown> }, name: string, value: string) =>
  Effect.runSync(
    Effect.either(Effect.withConfigProvider(setting.config, ConfigProvider.fromMap(new Map([[name, value]]))))
  )

describe("an address", () => {
  it("has four decimal numbers without leading zeros, or is IPv6", () => {
    for (const text of ambiguous) {
      assert.isUndefined(parseAddress(text), text)
      for (const network of [text, `${text}/32`, `${text}/8`]) assert.isUndefined(parseNetwork(network), network)
    }
    for (const text of plain) {
      assert.isDefined(parseAddress(text), text)
      assert.isDefined(parseNetwork(`${text}/32`), text)
    }
    for (const network of ["10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "10.0.0.0/a", ""])
      assert.isUndefined(parseNetwork(network), network)
  })

  it("of a host is no name of digits and dots", () => {
    for (const host of [...plain, "localhost", "node-1.example", "1.example"]) assert.isTrue(isHost(host), host)
    for (const host of ["010.0.0.1", "1.2.3", "10", "1.2.3.4.5", ""]) assert.isFalse(isHost(host), host)
  })

  it("of a key's or a proxy's range is refused when it is ambiguous, and admits nobody", () => {
    const addresses = make([])
    for (const text of ambiguous)
      for (const range of [text, `${text}/32`]) {
        assert.isString(addresses.mistake(range), range)
        assert.isFalse(addresses.covers("10.0.0.1", [range]), range)
        for (const client of ["8.0.0.1", "10.0.0.1", "1.2.0.3"])
          assert.isFalse(addresses.within(client, [range]), `${client} in ${range}`)
        assert.isFalse(addresses.within(text, ["0.0.0.0/0", "::/0"]), text)
      }
    assert.isUndefined(addresses.mistake("10.0.0.1"))
    assert.isTrue(addresses.within("10.0.0.1", ["10.0.0.1"]))
    assert.isTrue(addresses.within("::ffff:10.0.0.1", ["10.0.0.0/8"]))
    assert.isTrue(addresses.within("10.0.0.1", ["::ffff:10.0.0.0/104"]))
  })

  it("of an operator's network is refused when it is ambiguous", () => {
    for (const text of ambiguous.filter((one) => one.trim() === one)) {
      assert.isTrue(Either.isLeft(parseAllowList(text)), text)
      assert.isTrue(Either.isLeft(parseAllowList(`${text}/32`)), text)
    }
    for (const text of ambiguous) {
      assert.isString(whyBlocked(text, 80, Either.getOrThrow(parseAllowList("0.0.0.0/0,::/0"))), text)
      assert.isFalse(isAllowed(text, 80, Either.getOrThrow(parseAllowList("0.0.0.0/0,::/0"))), text)
    }
  })

  it("of a setting is refused when it is ambiguous", () => {
    for (const text of ["010.0.0.1", "1.2.3", "1.2.3.256"]) {
      assert.isTrue(Either.isLeft(read(settingTable.trustedProxies, "SVC_TRUSTED_PROXIES", text)), text)
      assert.isTrue(Either.isLeft(read(settingTable.host, "SVC_HOST", text)), text)
      assert.isTrue(Either.isLeft(read(settingTable.nodeListen, "SVC_NODE_LISTEN", text)), text)
      assert.isTrue(Either.isLeft(read(settingTable.nodeAddress, "SVC_NODE_ADDRESS", `${text}:7000`)), text)
    }
    for (const text of ["10.0.0.1", "node.example"]) {
      assert.isTrue(Either.isRight(read(settingTable.host, "SVC_HOST", text)), text)
      assert.isTrue(Either.isRight(read(settingTable.nodeAddress, "SVC_NODE_ADDRESS", `${text}:7000`)), text)
    }
    for (const text of ["10.0.0.1", "10.0.0.0/8, fd00::/8"])
      assert.isTrue(Either.isRight(read(settingTable.trustedProxies, "SVC_TRUSTED_PROXIES", text)), text)
  })
})

describe("the sources", () => {
  it("read addresses with the one parser only", () => {
    const parser = "src/runtime/process/IpAddress.ts"
    const files = readdirSync("src", { recursive: true, encoding: "utf8" })
      .map((name) => join("src", name))
      .filter((name) => /\.(?:ts|js|mjs)$/.test(name))
    const others = files.filter((name) => {
      const source = readFileSync(name, "utf8")
      return name !== parser && /ipaddr\.js|\bisIP(?:v[46])?\b|\bBlockList\b|\bSocketAddress\b/.test(source)
    })
    assert.include(files, parser)
    assert.match(readFileSync(parser, "utf8"), /ipaddr\.js/)
    assert.deepStrictEqual(others, [], `read addresses with ${parser}`)
  })
})
