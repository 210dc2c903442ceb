/** The end of a reply is found in one place: node:http does not tell of it for replies behind another on a dropped connection. */
import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"

const folder = "src/runtime/http"
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => name.replaceAll("\\", "/"))
  .sort()

/** All that the server listens to, by file, with what it is of. Of a reply there is one, in `OpenReplies.ts`. */
const allowed: { readonly [file: string]: ReadonlyArray<string> } = {
  // Of the rest of a request.
  "Answer.ts": ["on data", "once end", "once close"],
  // Of a request's body.
  "BodyReceiver.ts": ["on data", "on end", "on close", "on error"],
  "IncomingBody.ts": ["on data", "once end", "once error", "once close"],
  // Of a socket, and of a request's body.
  "IncomingConnections.ts": ["on error", "once close", "on end"],
  // Of the server, and of a socket that is no longer node:http's.
  "NodeServer.ts": [
    "once error",
    "on error",
    "on connection",
    "on checkContinue",
    "on checkExpectation",
    "on upgrade",
    "on connect",
    "on clientError"
  ],
  // Of a socket, and of a reply.
  "OpenReplies.ts": ["once end", "prependOnceListener close", "once close"],
  // Of a socket that is no longer node:http's.
  "Upgrade.ts": ["on data"],
  // Of a WebSocket.
  "rpc/RpcSockets.ts": [
    "prependListener data",
    "on message",
    "on ping",
    "on pong",
    "on error",
    "on close",
    "once wsClientError"
  ]
}

const listening = /\.(on|once|addListener|prependListener|prependOnceListener|addEventListener)\(\s*([^\s,)]*)/g
/** Functions of `node:stream` and `node:events` that wait for the end of a stream. */
const waiting = /\b(?:finished|pipeline|addAbortSignal|compose)\(|\bfrom "node:(?:stream\/promises|events)"/g

const listenersIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(listening)].map(([, method = "", event = ""]) => `${method} ${event.replaceAll('"', "")}`)

describe("in the server", () => {
  it("only what is listed here listens to events, and only `OpenReplies.ts` to those of a reply", () => {
    const found = Object.fromEntries(
      sources
        .map((file) => [file, listenersIn(readFileSync(`${folder}/${file}`, "utf8"))] as const)
        .filter(([, listeners]) => listeners.length > 0)
    )
    assert.deepStrictEqual(found, allowed)
  })

  it("no file waits for the end of a stream in another way", () => {
    const found = sources.flatMap((file) =>
      [...readFileSync(`${folder}/${file}`, "utf8").matchAll(waiting)].map(([text]) => `${file}: ${text}`)
    )
    assert.deepStrictEqual(found, [])
  })

  it.each([
    ['response.once("close", release)', "once close"],
    ['response\n  .on(\n    "finish",', "on finish"],
    ["response.once(event, release)", "once event"],
    ['res.prependListener("close", f)', "prependListener close"]
  ])("a listener is found: %j", (text, found) => {
    assert.deepStrictEqual(listenersIn(text), [found])
  })

  it.each(["finished(response, done)", "pipeline(pieces, response, done)", 'import { once } from "node:events"'])(
    "a wait is found: %s",
    (text) => {
      assert.match(text, new RegExp(waiting))
    }
  )
})
