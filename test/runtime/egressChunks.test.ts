/** A provider's answer is read whole and in turn, however it is cut into chunks. */
import { assert, describe, it } from "@effect/vitest"
import { endlessHolding } from "../support/holdings.js"
import { Dispatcher } from "undici"
import { exchange, type ExchangeResponse } from "../../src/runtime/egress/Exchange.js"
import { GatheredBytes } from "../../src/domain/GatheredBytes.js"
import { ownerOf } from "../support/shareOwners.js"

const bytes = 1024 * 1024

/** Answers with single bytes. */
class ByteByByte extends Dispatcher {
  constructor(private readonly headers: ReadonlyArray<string>) {
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
  ] as const)("%s arrives unchanged", (_, headers) => {
    let result: ExchangeResponse | Error | undefined
    exchange(new ByteByByte(headers), hop, optionsOf("org_a"), (given) => {
      result = given
    })
    if (result === undefined || result instanceof Error) return assert.fail(String(result))
    assert.strictEqual(result.body.length, bytes)
    assert.isTrue(result.body.every((byte, at) => byte === at % 251))
  })
})

/** Answers with single bytes whenever it may, and counts them. */
class PausedBytes extends Dispatcher {
  sent = 0

  override dispatch(_: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    let at = 0
    const send = () => {
      for (; at < 20_000 && !controller.paused; at++, this.sent++)
        handler.onResponseData?.(controller, Buffer.of(at % 251))
      if (at === 20_000 && !controller.paused) handler.onResponseEnd?.(controller, {})
    }
    const controller = {
      aborted: false,
      paused: false,
      reason: null,
      rawHeaders: [],
      abort: () => undefined,
      pause: () => {
        controller.paused = true
      },
      resume: () => {
        controller.paused = false
        send()
      }
    }
    handler.onRequestStart?.(controller, undefined)
    handler.onResponseStart?.(controller, 200, {})
    send()
    return true
  }
}

describe("answers in chunks of one byte", () => {
  it("are read in turns of the main loop, one answer in each", async () => {
    const dispatcher = new PausedBytes()
    const ask = () =>
      new Promise<ExchangeResponse | Error>((done) => exchange(dispatcher, hop, optionsOf("org_a"), done))
    const answers = Promise.all(Array.from({ length: 8 }, ask))
    let most = 0
    while (dispatcher.sent < 8 * 20_000) {
      const { sent } = dispatcher
      await new Promise((resolve) => setImmediate(resolve))
      most = Math.max(most, dispatcher.sent - sent)
    }
    assert.isAtMost(most, 1_024)
    for (const answer of await answers)
      assert.isTrue(!(answer instanceof Error) && answer.body.every((byte, at) => byte === at % 251))
  })
})

describe("an answer beside many of another organisation", () => {
  it("gets every second turn", async () => {
    const ended: Array<string> = []
    const ask = (dispatcher: PausedBytes, organisation: string) =>
      new Promise<void>((done) =>
        exchange(dispatcher, hop, optionsOf(organisation), () => {
          ended.push(organisation)
          done()
        })
      )
    const many = new PausedBytes()
    const answers = Array.from({ length: 16 }, () => ask(many, "org_many"))
    const one = new PausedBytes()
    answers.push(ask(one, "org_one"))
    let sentBeside = 0
    while (one.sent < 20_000) {
      await new Promise((resolve) => setImmediate(resolve))
      sentBeside = many.sent
    }
    assert.isAtMost(sentBeside, 16 * 1_024 + 2 * 20_000)
    await Promise.all(answers)
    assert.strictEqual(ended[0], "org_one")
  })
})

describe("the buffer of a body", () => {
  it("keeps a body of one chunk as it is, and takes no memory for an announced length", () => {
    const chunk = new Uint8Array([1, 2, 3])
    const one = new GatheredBytes(3)
    one.add(chunk)
    assert.strictEqual(one.whole().buffer, chunk.buffer)
    const announced = new GatheredBytes(1024 * 1024 * 1024)
    announced.add(chunk)
    assert.isAtMost(announced.whole().buffer.byteLength, 16 * 1024)
  })

  it("joins chunks of any lengths", () => {
    const gathered = new GatheredBytes()
    const chunks = [0, 1, 70_000, 5, 16 * 1024, 1].map((length, nth) => new Uint8Array(length).fill(nth))
    for (const chunk of chunks) gathered.add(chunk)
    assert.deepStrictEqual(Buffer.from(gathered.whole()), Buffer.concat(chunks))
  })
})
