/**
 * The tool gateways: agents list and call tools over the Model Context Protocol. A request is authenticated, signed and counted
 * as those of the other surfaces are; each call of a tool then takes the pipeline as the request of its operation.
 * Contract: tool gateways.
 */
import { Clock, Effect, Either } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { Origin } from "../../actors/ports/Origin.js"
import { type Failure, NotFound } from "../../domain/Failure.js"
import type { JsonObject } from "../../domain/Json.js"
import { isFailure, methodRow } from "../ErrorRows.js"
import { contract, type Operation } from "../operation/Operation.js"
import { empty } from "../operation/Output.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { OperationHandlers } from "../pipeline/OperationHandlers.js"
import { defaultRules, type make as makePipeline } from "../pipeline/Pipeline.js"
import type { FoundReply } from "../pipeline/SurfaceRequests.js"
import { pathOf, type RawReply, type RawRequest, type RecognisedCaller, type RequestHead } from "../Wire.js"
import { adminTools } from "./admin/AdminTools.js"
import { adminGatewayPath, hasUrlKey, NodeHosts, siteRefusal, withoutUrlKey } from "./GatewayAddress.js"
import { gatewayRules } from "./GatewayRules.js"
import { readMessages } from "./Messages.js"
import { offeredTool, type OperationTool, toolAnswer, toolRequest, unreadRequest } from "./OperationTool.js"
import { type OfferedTools, type ToolAnswer, ToolProtocol } from "./ToolProtocol.js"

type Pipeline = Pick<Effect.Effect.Success<typeof makePipeline>, "admit" | "recognise" | "serve">

/** A gateway: what its requests are guarded by, besides what guards each tool, and its tools. */
interface Gateway extends Pick<OfferedTools, "instructions" | "title"> {
  readonly route: Operation | ReturnType<typeof contract>
  readonly tools: ReadonlyMap<string, OperationTool>
}

const adminGateway: Gateway = {
  title: "svc: connectors and connections",
  instructions:
    "Manages the connectors of an organisation and its customers' connections. A connector is changed in its draft, which has no effect until svc_connector_publish_version; then connections can be made with svc_connection_create_link, whose connectUrl is for the customer. Refused calls say in `details` what to correct.",
  route: contract({
    name: "mcp.admin",
    summary: "Admin gateway",
    description: "The tools that manage connectors and connections.",
    answers: {},
    route: `POST ${adminGatewayPath}`,
    output: empty,
    permit: "anyCaller",
    audit: { _tag: "NotAudited", reason: "each call of a tool is audited as its operation" },
    sharing: "read",
    scoped: {},
    form: { body: "handler", idempotency: "none", tenancy: "act" },
    noStore: true
  }),
  tools: new Map(adminTools.map((tool) => [tool.name, tool]))
}

const gateways: ReadonlyMap<string, Gateway> = new Map([[adminGatewayPath, adminGateway]])

const gatewayOf = ({ target }: RequestHead): Gateway | undefined => gateways.get(pathOf(target).replace(/\/$/, ""))

/** Tells a client whose key stands in its URL that others may see it there. */
const withNotice = (request: RequestHead, reply: RawReply): RawReply =>
  hasUrlKey(request) ? { ...reply, headers: { ...reply.headers, "x-svc-notice": "key-in-url" } } : reply

/** Makes the front of the node. */
export const makeMcpFront = Effect.fnUntraced(function* ({ admit, recognise, serve }: Pipeline) {
  const handlers = yield* OperationHandlers
  const hosts = yield* NodeHosts
  const identifiers = yield* Identifiers
  const publicUrl = yield* Origin
  const protocol = yield* ToolProtocol

  // --- Calls of tools ---

  /** Calls the operation of a tool, for the caller of the request that has the call. */
  const callOperation = (exchange: Exchange, tool: OperationTool, input: JsonObject): Effect.Effect<ToolAnswer> => {
    const asked = toolRequest(tool, exchange.request, input)
    const { params, request, use } = Either.getOrElse(asked, () => unreadRequest(tool, exchange.request, input))
    const handler = Either.isLeft(asked) ? () => Effect.fail(asked.left) : handlers.get(use.operation)
    if (handler === undefined) return Effect.die(new Error(`${use.operation.path} has no handler`))
    const served = serve({ rules: defaultRules, route: use.operation, params, request, partOf: exchange }, handler)
    return Effect.map(served, (reply) => toolAnswer(reply, use))
  }

  const offeredBy = ({ instructions, title, tools }: Gateway, exchange: Exchange): OfferedTools => ({
    title,
    instructions,
    list: (cursor) =>
      Effect.succeed(cursor === undefined ? { tools: [...tools.values()].map(offeredTool) } : undefined),
    call: (name, input) => {
      const tool = tools.get(name)
      return tool === undefined ? Effect.succeed(undefined) : callOperation(exchange, tool, input)
    }
  })

  // --- Requests ---

  const answer = (gateway: Gateway, exchange: Exchange, request: RawRequest): Effect.Effect<RawReply, Failure> => {
    const read = readMessages(request)
    if (Either.isLeft(read)) return isFailure(read.left) ? Effect.fail(read.left) : Effect.succeed(read.left)
    const { body, requests } = read.right
    // The first one was counted with the request.
    const counted = Effect.replicateEffect(admit(exchange.caller), Math.max(0, requests - 1), { discard: true })
    return Effect.zipRight(counted, protocol.answer(request.headers, body, offeredBy(gateway, exchange)))
  }

  const refused = (failure: Failure, requestId: string, now: number): RawReply =>
    gatewayRules.failureReply(failure, requestId, now)

  /** The reply to a request that no gateway takes. */
  const refusal = (failure: Failure): Effect.Effect<RawReply> =>
    Effect.map(Clock.currentTimeMillis, (now) => refused(failure, identifiers.next("req"), now))

  const refusedUnread = (reply: Effect.Effect<RawReply>): FoundReply => ({ isRouted: false, reply })

  const methodRefusal = (): Effect.Effect<RawReply> =>
    Effect.sync(() => {
      const reply = gatewayRules.errorReply(methodRow(["POST"]), identifiers.next("req"))
      return { ...reply, headers: { ...reply.headers, allow: "POST" } }
    })

  const served = (gateway: Gateway, request: RawRequest): Effect.Effect<RawReply> =>
    serve({ rules: gatewayRules, route: gateway.route, params: {}, request }, (exchange) =>
      Effect.map(answer(gateway, exchange, request), (reply) => ({
        ...reply,
        headers: { ...exchange.replyHeaders, ...reply.headers }
      }))
    )

  const findReply = (sent: RawRequest): FoundReply => {
    const gateway = gatewayOf(sent)
    if (gateway === undefined) return refusedUnread(refusal(new NotFound({ what: "path", meant: adminGatewayPath })))
    const mistake = siteRefusal(sent, publicUrl, hosts)
    if (mistake !== undefined) return refusedUnread(refusal(mistake))
    if (sent.method !== "POST") return refusedUnread(methodRefusal())
    const request = withoutUrlKey(sent)
    return Either.isLeft(request)
      ? refusedUnread(refusal(request.left))
      : { isRouted: true, reply: served(gateway, request.right) }
  }

  return {
    /** The reply to a request for a path of the gateways. */
    find: (sent: RawRequest): FoundReply => {
      const found = findReply(sent)
      return { ...found, reply: Effect.map(found.reply, (reply) => withNotice(sent, reply)) }
    },
    /** The caller of a request, by its head alone. */
    recognise: (sent: RequestHead): Effect.Effect<RecognisedCaller | RawReply> => {
      const request = withoutUrlKey(sent)
      const found = Either.isLeft(request)
        ? refusal(request.left)
        : recognise(gatewayRules, request.right, gatewayOf(sent)?.route)
      return Effect.map(found, (one) => ("caller" in one ? one : withNotice(sent, one)))
    },
    /** The reply to a request that is refused before it is read. */
    refused: (failure: Failure, requestId: string, now: number, sent: RequestHead): RawReply =>
      withNotice(sent, refused(failure, requestId, now))
  }
})
