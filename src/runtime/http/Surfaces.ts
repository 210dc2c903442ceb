/** The handlers of the server: send each request through the pipeline to the endpoint of its route. */
import { Context, Effect, Layer } from "effect"
import { RefusalCounters } from "../../http/auth/RefusalCounters.js"
import { type Failure, PayloadTooLarge } from "../../domain/Failure.js"
import { incomingBody } from "../../domain/Limits.js"
import { make as makeConnectPages } from "../../http/connect/Pages.js"
import { make as makeApprovalPages } from "../../http/connect/ApprovalPages.js"
import { make as makeMailPages } from "../../http/connect/MailPages.js"
import { make as makeInvitationPages } from "../../http/connect/InvitationPages.js"
import { make as makeMailSignInPages } from "../../http/connect/MailSignInPages.js"
import { make as makeProviderPages } from "../../http/connect/ProviderPages.js"
import { makeSignInFrame } from "../../http/connect/SignInFrame.js"
import { make as makeSignInPages } from "../../http/connect/SignInPages.js"
import { calledWorkflow } from "../../http/execution/CalledWorkflow.js"
import { make as makeExecute } from "../../http/execution/Execute.js"
import { make as makeWebhooks } from "../../http/webhook/Receive.js"
import { make as makeProxy, proxyPrefix } from "../../http/execution/Proxy.js"
import { type Cors, makeCors } from "../../http/embed/Cors.js"
import { makeFramePage, type PanelEntry } from "../../http/embed/FramePage.js"
import { bufferBody } from "../../http/execution/BufferedBody.js"
import type { Contract } from "../../http/operation/Contract.js"
import { executeContract, flowContract, proxyContracts, runContract } from "../../http/operations/Execution.js"
import {
  sharedOperations,
  surfaceA,
  surfaceAStart,
  surfaceB,
  surfaceC,
  surfaceCStart
} from "../../http/operations/Surfaces.js"
import { handlersOf } from "../../http/pipeline/OperationHandlers.js"
import { make as makePipeline, defaultRules } from "../../http/pipeline/Pipeline.js"
import { isGatewayPath } from "../../http/mcp/GatewayAddress.js"
import { makeMcpFront } from "../../http/mcp/McpFront.js"
import { make as makeRpc, type RpcFront } from "../../http/rpc/RpcFront.js"
import { type FoundReply, makeSurfaceRequests } from "../../http/pipeline/SurfaceRequests.js"
import { isMeantForTenants, isSentByTenants, isTenantPath, tenantRules } from "../../http/tenant/Rules.js"
import { type IncomingRequest, pathOf, type RawReply, type RawRequest, type RequestHead } from "../../http/Wire.js"
import type { Handlers } from "./NodeServer.js"
import type { Recognised } from "./BodyReceiver.js"
import { ownerOfAccount } from "../../domain/share/ShareOwner.js"
import { ShareOwners } from "../../actors/ports/organisation/ShareOwners.js"

interface Surface extends Pick<Handlers, "execute" | "proxy" | "webhook" | "recognise" | "addressOf"> {
  /** The reply to all other requests. */
  readonly find: (request: RawRequest) => FoundReply
  /** The reply to a request for a page where people connect accounts; `undefined` for all others. */
  readonly connectPage: (request: RawRequest) => Effect.Effect<RawReply> | undefined
  /** The page for an address that asks for too many of them. */
  readonly limitedConnectPage: (retryAfterSeconds: number) => RawReply
  /** The reply to a request that is refused before it is read, in the form of its surface. `now`: Unix milliseconds. */
  readonly refused: (failure: Failure, request: RequestHead, requestId: string, now: number) => RawReply
  /** The reply to a request for the panel's page; `undefined` for all others. `entry`: what the page loads. */
  readonly framePage: (request: RequestHead, entry: Effect.Effect<PanelEntry>) => Effect.Effect<RawReply> | undefined
  readonly rpc: RpcFront
  /** Lets pages of embed sessions read replies. */
  readonly cors: Cors
  /** Whether the sender of this request is known by the link in its path instead of by a key. */
  readonly isLinked: (request: RequestHead) => boolean
}

export class Surfaces extends Context.Tag("svc/Surfaces")<Surfaces, Surface>() {}

const proxyRoutes = new Map<string, Contract>(proxyContracts.map((one) => [one.method, one]))

export const layer = Layer.effect(
  Surfaces,
  Effect.gen(function* () {
    const pipeline = yield* makePipeline
    const { callFlow, execute } = yield* makeExecute
    const { proxy } = yield* makeProxy
    const { admit: webhook } = yield* makeWebhooks
    const { isLink, limitedPage, organisationOfLink, pageAt } = yield* makeConnectPages
    const mailPageAt = yield* makeMailPages
    const approvalPageAt = yield* makeApprovalPages
    const signInFrame = yield* makeSignInFrame(pipeline.addressOf)
    const signInPageAt = yield* makeSignInPages(signInFrame)
    const invitationPageAt = yield* makeInvitationPages(signInFrame)
    const providerPageAt = yield* makeProviderPages(signInFrame)
    const mailSignInPageAt = yield* makeMailSignInPages(signInFrame)
    const usual = yield* makeSurfaceRequests(
      pipeline,
      defaultRules,
      [...surfaceA, ...surfaceC],
      [...surfaceAStart, ...surfaceCStart]
    )
    const shareOwners = yield* ShareOwners
    const rpc = yield* makeRpc({ ...pipeline, execute, proxy })
    const gateways = yield* makeMcpFront(pipeline)
    const cors = yield* makeCors(pipeline.addressOf)
    const framePage = yield* makeFramePage(pipeline.addressOf)
    const tenant = yield* makeSurfaceRequests(pipeline, tenantRules, surfaceB)
    const shared = yield* makeSurfaceRequests(pipeline, tenantRules, sharedOperations)
    const surfaceOf = (request: RequestHead) => {
      const path = pathOf(request.target)
      if (isGatewayPath(path)) return gateways
      const called = calledWorkflow(request)
      if (isTenantPath(path) || (called !== undefined && "flowName" in called)) return tenant
      if (isSentByTenants(request.headers) && shared.hasRoute(request.method, path)) return shared
      return isMeantForTenants(path, request.headers) && !usual.hasPath(path) ? tenant : usual
    }

    const flowCalled = (request: RawRequest, flowName: string) =>
      pipeline.serve(
        { rules: tenantRules, route: flowContract, params: { flow_name: flowName }, request },
        (exchange) => callFlow(exchange, request, tenantRules.failureReply)
      )

    const started = (request: RawRequest, workflowId: string) =>
      pipeline.serve(
        {
          rules: defaultRules,
          route: pathOf(request.target).endsWith("/run") ? runContract : executeContract,
          params: { workflowId },
          request
        },
        (exchange) => execute(exchange, request)
      )

    const proxied = (request: IncomingRequest): Effect.Effect<RawReply> =>
      Effect.suspend(() => {
        const route = proxyRoutes.get(request.method === "HEAD" ? "GET" : request.method)
        const body = bufferBody(request.body)
        if (route === undefined)
          return Effect.flatMap(body.readAll, (bytes) => usual.find({ ...request, body: bytes }).reply).pipe(
            Effect.orDie
          )
        const params = { path: request.target.slice(proxyPrefix.length) }
        return pipeline.serve(
          { rules: defaultRules, route, params, request: { ...request, body: body.readAll } },
          (exchange) => proxy(exchange, body)
        )
      })

    /** Recognises a request for a connect page by its session, all others by their key. */
    const recognise = (request: RequestHead): Effect.Effect<Recognised> => {
      const link = organisationOfLink(pathOf(request.target))
      if (link !== undefined)
        return Effect.flatMap(link, (organisation): Effect.Effect<Recognised> =>
          organisation === undefined
            ? Effect.succeed({
                _tag: "Failed",
                failure: new PayloadTooLarge({ limitBytes: incomingBody.unrecognisedBytes })
              })
            : Effect.map(shareOwners.of(organisation), (holder) => ({ _tag: "Known", holder }))
        )
      return Effect.map(surfaceOf(request).recognise(request), (found) =>
        "caller" in found
          ? { _tag: "Known", holder: ownerOfAccount(found.caller), recognised: found }
          : { _tag: "Refused", reply: found }
      )
    }

    return Surfaces.of({
      execute: (request, called) =>
        "flowName" in called ? flowCalled(request, called.flowName) : started(request, called.workflowId),
      proxy: proxied,
      webhook,
      find: (request) =>
        request.target.startsWith(proxyPrefix)
          ? { isRouted: true, reply: proxied(request) }
          : surfaceOf(request).find(request),
      connectPage: (request) =>
        pageAt(request) ??
        mailPageAt(request) ??
        approvalPageAt(request) ??
        signInPageAt(request) ??
        invitationPageAt(request) ??
        mailSignInPageAt(request) ??
        providerPageAt(request),
      limitedConnectPage: limitedPage,
      isLinked: ({ target }) => isLink(pathOf(target)),
      recognise,
      framePage,
      rpc,
      cors,
      addressOf: pipeline.addressOf,
      refused: (failure, request, requestId, now) => surfaceOf(request).refused(failure, requestId, now, request)
    })
  })
).pipe(Layer.provideMerge(handlersOf([...surfaceA, ...surfaceB, ...surfaceC])), Layer.provide(RefusalCounters.Default))
