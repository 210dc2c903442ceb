/** The port of the protocol by which agents list and call tools: Model Context Protocol, over HTTP. Contract: tool gateways. */
import { Context, type Effect } from "effect"
import type { Json, JsonObject } from "../../domain/Json.js"
import type { RawReply, RequestHead } from "../Wire.js"

/** A tool, as clients see it. */
export interface OfferedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** A JSON Schema of the type object. */
  readonly inputSchema: JsonObject
  /** What clients may assume before they call it. `openWorld`: it reaches other systems than this service. */
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
}

/** What a call came to. A refusal is an answer, too: agents read it and correct their call. */
export interface ToolAnswer {
  readonly isError: boolean
  readonly text: string
  readonly structured: JsonObject | undefined
}

/** A page of tools; `undefined`: the cursor is none. */
export interface ToolPage {
  readonly tools: ReadonlyArray<OfferedTool>
  readonly nextCursor?: string
}

/** What a gateway offers to the caller of one request. */
export interface OfferedTools {
  readonly title: string
  /** What agents are told of the gateway as a whole. */
  readonly instructions: string
  readonly list: (cursor: string | undefined) => Effect.Effect<ToolPage | undefined>
  /** `undefined`: there is no such tool. */
  readonly call: (name: string, input: JsonObject) => Effect.Effect<ToolAnswer | undefined>
}

export class ToolProtocol extends Context.Tag("svc/ToolProtocol")<
  ToolProtocol,
  {
    /** Answers the messages of one request, each request among them once. `body`: one message, or those of a batch. */
    readonly answer: (headers: RequestHead["headers"], body: Json, offered: OfferedTools) => Effect.Effect<RawReply>
  }
>() {}
