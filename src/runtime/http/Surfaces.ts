/** The surfaces as one pair of handlers: the thin route of starts, and the gate in front of the typed API. */
import { HttpApiBuilder, HttpRouter } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer } from "effect"
import * as Authenticated from "../../http/auth/Authenticated.js"
import * as Refusals from "../../http/auth/Refusals.js"
import { PayloadTooLarge } from "../../domain/Failure.js"
import { arrivingBody, headerBytes } from "../../domain/Limits.js"
import { make as makeConnectPages } from "../../http/connect/Pages.js"
import { ExecutionApi, RunApi } from "../../http/execution/Api.js"
import { make as makeExecute } from "../../http/execution/Execute.js"
import { make as makeProxy, proxyPrefix } from "../../http/execution/Proxy.js"
import { make as makeGate } from "../../http/Gate.js"
import { ResourceApi } from "../../http/resource/Api.js"
import { ApiKeysLive } from "../../http/resource/ApiKeysHandlers.js"
import { AuditLive } from "../../http/resource/AuditHandlers.js"
import { AuthProvidersLive } from "../../http/resource/AuthProvidersHandlers.js"
import { CallbackSecretLive } from "../../http/resource/CallbackSecretHandlers.js"
import { ConfigLive } from "../../http/resource/ConfigHandlers.js"
import { ConnectionsLive } from "../../http/resource/ConnectionsHandlers.js"
import { ConnectorsLive } from "../../http/resource/ConnectorsHandlers.js"
import { CustomersLive } from "../../http/resource/CustomersHandlers.js"
import { ExecutionsLive } from "../../http/resource/ExecutionsHandlers.js"
import { InstallationsLive } from "../../http/resource/InstallationsHandlers.js"
import { SecretsLive } from "../../http/resource/SecretsHandlers.js"
import { RolesLive, UsersLive } from "../../http/resource/UsersHandlers.js"
import { WorkflowsLive } from "../../http/resource/WorkflowsHandlers.js"
import { Origin } from "../../http/Origin.js"
import { TenantApi } from "../../http/tenant/Api.js"
import { CredentialsLive } from "../../http/tenant/CredentialsHandlers.js"
import { isTenantPath, tenantManners } from "../../http/tenant/Manners.js"
import { routesOf } from "../../http/Routes.js"
import { pathOf, type RawReply, type RawRequest, type RequestHead } from "../../http/Wire.js"
import { Settings } from "../Layers.js"
import type { Handlers } from "./NodeServer.js"
import type { Identified } from "./Receiving.js"

interface Surface extends Pick<Handlers, "execute" | "proxy" | "handle" | "identify" | "addressOf"> {
  /** The reply to a request for a page where people connect accounts; `undefined` for all others. */
  readonly connectPage: (request: RawRequest) => Effect.Effect<RawReply> | undefined
}

export class Surfaces extends Context.Tag("svc/Surfaces")<Surfaces, Surface>() {}

const groups = Layer.mergeAll(
  CustomersLive,
  WorkflowsLive,
  ExecutionsLive,
  ApiKeysLive,
  UsersLive,
  RolesLive,
  SecretsLive,
  CallbackSecretLive,
  ConfigLive,
  ConnectorsLive,
  AuthProvidersLive,
  ConnectionsLive,
  InstallationsLive,
  AuditLive
)

const origin = Layer.effect(
  Origin,
  Effect.map(Settings, ({ publicUrl }) => publicUrl)
)

/** Routes without the library's own answer to failures: the gate has one for each. */
const router = Layer.merge(
  HttpApiBuilder.api(ResourceApi).pipe(Layer.provide(groups)),
  HttpApiBuilder.api(TenantApi).pipe(Layer.provide(CredentialsLive))
).pipe(Layer.provide(origin), Layer.provide(Authenticated.layer))

export const layer = Layer.effect(
  Surfaces,
  Effect.gen(function* () {
    const app = yield* HttpRouter.toHttpApp(
      yield* Effect.flatMap(HttpApiBuilder.Router, (service) => service.router)
    ).pipe(HttpRouter.withRouterConfig({ maxParamLength: headerBytes }))
    const { execute } = yield* makeExecute
    const plain = yield* makeGate([...routesOf(ResourceApi), ...routesOf(ExecutionApi), ...routesOf(RunApi)], app)
    const tenant = yield* makeGate(routesOf(TenantApi), app, tenantManners)
    const handle = (request: RawRequest) =>
      isTenantPath(pathOf(request.target)) ? tenant.handle(request) : plain.handle(request)
    const { isOpen, pageAt } = yield* makeConnectPages

    /** The body of a request for a page is worth reading on where its link is a session's; of all others, the key tells. */
    const identify = (request: RequestHead): Effect.Effect<Identified> => {
      const path = pathOf(request.target)
      const link = isOpen(path)
      if (link !== undefined)
        return Effect.map(link, (holder) =>
          holder === undefined
            ? { _tag: "Failed", failure: new PayloadTooLarge({ limitBytes: arrivingBody.unidentifiedBytes }) }
            : { _tag: "Known", holder }
        )
      return Effect.map(isTenantPath(path) ? tenant.identify(request) : plain.identify(request), (found) =>
        "organisation" in found ? { _tag: "Known", holder: found.organisation } : { _tag: "Refused", reply: found }
      )
    }
    const { proxy } = yield* makeProxy
    return Surfaces.of({
      execute,
      proxy,
      handle: (request) => (request.target.startsWith(proxyPrefix) ? proxy(request) : handle(request)),
      connectPage: pageAt,
      identify,
      addressOf: plain.addressOf
    })
  })
).pipe(
  Layer.provide(router),
  Layer.provide(origin),
  Layer.provide(Refusals.layer),
  Layer.provide(HttpApiBuilder.Router.Live),
  Layer.provide(NodeHttpServer.layerContext)
)
