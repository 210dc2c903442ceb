/**
 * The port `ToolProtocol`: a server of the library for each request, without a session, in all versions that the library
 * speaks. It sees no key, no address and no header but those of the protocol.
 */
import { Effect, Layer, Runtime } from "effect"
import type { Server } from "@modelcontextprotocol/server"
import { createRequire } from "node:module"
import { resolve } from "node:path"
import type { Json, JsonObject } from "../../domain/Json.js"
import { type OfferedTools, type ToolAnswer, ToolProtocol } from "../../http/mcp/ToolProtocol.js"
import type { RawReply, RequestHead } from "../../http/Wire.js"
import type * as McpLibrary from "./McpLibrary.js"

type Library = typeof McpLibrary

/** The headers by which clients name version, method and tool. */
const protocolHeaders = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"]

/** The request as the library reads it, which gets the messages apart from it; its address tells nothing. */
const requestOf = (sent: RequestHead["headers"]): Request => {
  const headers = new Headers()
  for (const name of protocolHeaders) {
    const value = sent[name]
    if (value !== undefined) headers.set(name, value)
  }
  // What takes anything takes both types that the protocol asks for.
  if (/(?:^|,)\s*\*\/\*/.test(sent["accept"] ?? "*/*")) headers.set("accept", "application/json, text/event-stream")
  return new Request("http://svc/mcp", { method: "POST", headers })
}

const replyOf = async (response: Response): Promise<RawReply> => {
  const type = response.headers.get("content-type")
  return {
    status: response.status,
    headers: type === null ? {} : { "content-type": type },
    body: await response.text()
  }
}

/** The answer to a batch is one, too, if only one of its messages wants an answer. */
const inBatch = (reply: RawReply): RawReply =>
  reply.status === 200 && typeof reply.body === "string" && !reply.body.startsWith("[")
    ? { ...reply, body: `[${reply.body}]` }
    : reply

const resultOf = ({ isError, structured, text }: ToolAnswer) => ({
  content: [{ type: "text" as const, text }],
  ...(structured === undefined ? {} : { structuredContent: structured }),
  ...(isError ? { isError } : {})
})

const invalidParams = -32602

/** A server that offers the tools. */
const serverOf = (
  library: Library,
  { call, instructions, list, title }: OfferedTools,
  run: <A>(effect: Effect.Effect<A>) => Promise<A>
): Server => {
  const server = new library.Server({ name: "svc", title, version: "1" }, { capabilities: { tools: {} }, instructions })
  server.setRequestHandler("tools/list", async ({ params }) => {
    const page = await run(list(params?.cursor))
    if (page === undefined) throw new library.ProtocolError(invalidParams, "the cursor is not one of this list")
    const { nextCursor, tools } = page
    // Plain data of the tools' rows.
    return { tools: tools as never, ...(nextCursor === undefined ? {} : { nextCursor }) }
  })
  server.setRequestHandler("tools/call", async ({ params: { arguments: input = {}, name } }) => {
    const answer = await run(call(name, input as JsonObject))
    if (answer === undefined) throw new library.ProtocolError(invalidParams, `there is no tool ${name.slice(0, 100)}`)
    return resultOf(answer)
  })
  return server
}

/** Answers a message of a version before 2026-07-28, or a batch, as JSON. */
const answerEarlier = async (
  { WebStandardStreamableHTTPServerTransport }: Library,
  server: Server,
  request: Request,
  parsedBody: Json
) => {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    return await transport.handleRequest(request, { parsedBody })
  } finally {
    await server.close()
  }
}

/** `path`: of the library's file. */
export const layer = (path: string): Layer.Layer<ToolProtocol> =>
  Layer.effect(
    ToolProtocol,
    Effect.gen(function* () {
      const loaded = yield* Effect.cached(Effect.sync(() => createRequire(import.meta.url)(resolve(path)) as Library))
      return ToolProtocol.of({
        answer: (headers, body, offered) =>
          Effect.gen(function* () {
            const library = yield* loaded
            const runtime = yield* Effect.runtime<never>()
            const server = () => serverOf(library, offered, (effect) => Runtime.runPromise(runtime, effect))
            const request = requestOf(headers)
            const reply = yield* Effect.promise(async () =>
              replyOf(
                (await library.isLegacyRequest(request, body))
                  ? await answerEarlier(library, server(), request, body)
                  : await library.createMcpHandler(server).fetch(request, { parsedBody: body })
              )
            )
            return Array.isArray(body) ? inBatch(reply) : reply
          })
      })
    })
  )
