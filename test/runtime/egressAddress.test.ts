import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import { parseAllowList, whyBlocked } from "../../src/runtime/egress/Address.js"

const allowing = (text: string) => Either.getOrThrow(parseAllowList(text))

describe("allowed addresses", () => {
  it("include public unicast addresses, also in NAT64, 6to4 and mapped form", () => {
    const open = ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
    for (const address of open) assert.isUndefined(whyBlocked(address, 443, []), address)
  })

  it("include no private, local, reserved or embedded address", () => {
    const closed = [
      "127.0.0.1",
      "127.255.255.254",
      "10.1.2.3",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "169.254.169.254",
      "100.64.0.1",
      "100.127.255.255",
      "0.0.0.0",
      "0.1.2.3",
      "192.0.0.8",
      "192.0.2.1",
      "198.18.0.1",
      "198.51.100.1",
      "203.0.113.1",
      "224.0.0.1",
      "240.0.0.1",
      "255.255.255.255",
      "192.88.99.1",
      "::",
      "::1",
      "::127.0.0.1",
      "::7f00:1",
      "::a9fe:a9fe",
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "::ffff:0:7f00:1",
      "fd00::1",
      "fc00::1",
      "fd00:ec2::254",
      "fe80::1",
      "fe80::1%eth0",
      "fec0::1",
      "ff02::1",
      "64:ff9b::7f00:1",
      "64:ff9b::a9fe:a9fe",
      "64:ff9b:1::1",
      "2002:7f00:1::",
      "2002:a00:1::1",
      "2001::1",
      "2001:0:808:808::1",
      "2001:db8::1",
      "100::1",
      "4000::1",
      "5f00::1"
    ]
    for (const address of closed) assert.isString(whyBlocked(address, 443, []), address)
  })

  it("include only addresses", () => {
    for (const text of ["", "localhost", "127.1", "0x7f.1", "1.2.3.4.5", "::g"])
      assert.isString(whyBlocked(text, 80, []), text)
  })

  it.prop("no IPv4 address becomes reachable by being written as IPv6", [fc.ipV4()], ([address]) => {
    const hex = address
      .split(".")
      .map((part) => Number(part).toString(16).padStart(2, "0"))
      .join("")
    const tail = `${hex.slice(0, 4)}:${hex.slice(4)}`
    if (whyBlocked(address, 80, []) === undefined) return
    for (const form of [`::ffff:${tail}`, `64:ff9b::${tail}`, `2002:${tail}::`, `::${tail}`])
      assert.isString(whyBlocked(form, 80, []), form)
  })
})

describe("the operator's allow list", () => {
  it("allows what it names and nothing else", () => {
    const allow = allowing("127.0.0.1/32, 10.0.0.0/8:443, [fd00::]/8:8443, ::1, 192.168.1.5:80")
    const open: ReadonlyArray<readonly [string, number]> = [
      ["127.0.0.1", 1],
      ["::ffff:127.0.0.1", 80],
      ["10.9.9.9", 443],
      ["fd12::1", 8443],
      ["::1", 5],
      ["192.168.1.5", 80]
    ]
    const closed: ReadonlyArray<readonly [string, number]> = [
      ["127.0.0.2", 1],
      ["10.9.9.9", 444],
      ["11.0.0.1.", 443],
      ["fd12::1", 443],
      ["fe80::1", 8443],
      ["192.168.1.5", 81]
    ]
    for (const [address, port] of open) assert.isUndefined(whyBlocked(address, port, allow), address)
    for (const [address, port] of closed) assert.isString(whyBlocked(address, port, allow), address)
  })

  it("is empty for empty text", () => {
    for (const text of ["", " ", ","]) assert.deepStrictEqual(allowing(text), [])
  })

  it("says which entry is wrong", () => {
    const bad = [
      "localhost",
      "10.0.0.0/33",
      "::1/129",
      "10.0.0.0/8:0",
      "10.0.0.0/8:70000",
      "[10.0.0.0]/8",
      "[::1",
      "10.0.0",
      "http://10.0.0.1",
      "10.0.0.1/-1",
      "10.0.0.1/8/8"
    ]
    for (const entry of bad) {
      const result = parseAllowList(`127.0.0.1,${entry}`)
      assert.include(Either.isLeft(result) ? result.left : "accepted", `"${entry}"`)
    }
  })
})
