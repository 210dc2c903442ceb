/** Sends messages to a tool gateway, as a client of protocol version 2025-06-18 that knows no other. */
import { assert } from "@effect/vitest"
import type { Answer, Ask, Running } from "../InProcess.js"

export const adminGateway = "/mcp/admin"

export interface Message {
  readonly jsonrpc: "2.0"
  readonly id?: number | string
  readonly method: string
  readonly params?: object
}

export const message = (id: number | string, method: string, params?: object): Message => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? {} : { params })
})

export const toolCall = (id: number | string, name: string, input: object = {}): Message =>
  message(id, "tools/call", { name, arguments: input })

/** Posts one message, or a batch. */
export const post = (
  svc: Running,
  body: unknown,
  { headers = {}, path = adminGateway, ...more }: Ask & { readonly path?: string } = {}
): Promise<Answer> =>
  svc.ask("POST", path, {
    key: svc.first.key,
    body,
    ...more,
    headers: { accept: "application/json, text/event-stream", ...headers }
  })

/** What a call came to. */
export interface CalledTool {
  readonly isError: boolean
  // oxlint-disable-next-line typescript/no-explicit-any -- Each test asserts the members that it expects.
  readonly value: any
  readonly text: string
}

/** The result of a call in an answer. */
export const calledTool = ({ body, status, text }: Answer): CalledTool => {
  assert.strictEqual(status, 200, text)
  assert.isDefined(body.result, text)
  const { content, isError = false, structuredContent } = body.result
  return { isError, value: structuredContent, text: content[0].text }
}

/** Calls a tool of the admin gateway. */
export const callTool = async (svc: Running, name: string, input: object = {}, more: Ask = {}): Promise<CalledTool> =>
  calledTool(await post(svc, toolCall(1, name, input), more))
