/** A provider's answer costs memory by its bytes, however it is cut into chunks. */
import { assert, describe, it } from "@effect/vitest"
import { Dispatcher } from "undici"
import { exchange, type ExchangeResponse } from "../../../src/runtime/egress/Exchange.js"
import { assertBytes } from "../../support/figures.js"
import { liveObjectBytes } from "../../support/heap.js"
import { endlessHolding } from "../../support/holdings.js"
import { ownerOf } from "../../support/shareOwners.js"

const bytes = 1024 * 1024

/** Answers with single bytes, and calls `whole` before the end. */
class ByteByByte extends Dispatcher {
  constructor(
    private readonly headers: ReadonlyArray<string>,
    private readonly whole: () => void
  ) {
    super()
  }

  override dispatch(_: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const controller = {
      aborted: false,
      paused: false,
      reason: null,
      rawHeaders: [...this.headers],
      abort: () => undefined,
      pause: () => undefined,
      resume: () => undefined
    }
    handler.onRequestStart?.(controller, undefined)
    handler.onResponseStart?.(controller, 200, {})
    for (let at = 0; at < bytes; at++) handler.onResponseData?.(controller, Buffer.of(at % 251))
    this.whole()
    handler.onResponseEnd?.(controller, {})
    return true
  }
}

const hop = { url: new URL("http://127.0.0.1/"), method: "GET", headers: [], body: null }

const optionsOf = (organisation: string) => ({
  owner: ownerOf(organisation),
  maxBytes: bytes,
  discards: () => false,
  holding: endlessHolding
})

describe("an answer in chunks of one byte", () => {
  it.each([
    ["of unknown length", []],
    ["of a known length", ["content-length", String(bytes)]]
  ] as const)("%s holds about its bytes", (_, headers) => {
    const before = liveObjectBytes()
    let held = 0
    const dispatcher = new ByteByByte(headers, () => {
      held = liveObjectBytes() - before
    })
    let result: ExchangeResponse | Error | undefined
    exchange(dispatcher, hop, optionsOf("org_a"), (given) => {
      result = given
    })
    if (result === undefined || result instanceof Error) return assert.fail(String(result))
    assertBytes(held, 4 * bytes)
  })
})
