/** The surfaces as one pair of handlers: the thin route of starts, and the gate in front of the typed API. */
import { HttpApiBuilder, HttpRouter } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer } from "effect"
import * as Authenticated from "../../http/auth/Authenticated.js"
import { headerBytes } from "../../domain/Limits.js"
import { make as makeConnectPages } from "../../http/connect/Pages.js"
import { ExecutionApi, RunApi } from "../../http/execution/Api.js"
import { make as makeExecute } from "../../http/execution/Execute.js"
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
import { SecretsLive } from "../../http/resource/SecretsHandlers.js"
import { RolesLive, UsersLive } from "../../http/resource/UsersHandlers.js"
import { WorkflowsLive } from "../../http/resource/WorkflowsHandlers.js"
import { Origin } from "../../http/Origin.js"
import { routesOf } from "../../http/Routes.js"
import type { RawReply, RawRequest } from "../../http/Wire.js"
import { Settings } from "../Layers.js"
import type { Handlers } from "./NodeServer.js"

interface Surface extends Pick<Handlers, "execute" | "handle"> {
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
  AuditLive
)

const origin = Layer.effect(
  Origin,
  Effect.map(Settings, ({ publicUrl }) => publicUrl)
)

/** Routes without the library's own answer to failures: the gate has one for each. */
const router = HttpApiBuilder.api(ResourceApi).pipe(
  Layer.provide(groups),
  Layer.provide(origin),
  Layer.provide(Authenticated.layer)
)

export const layer = Layer.effect(
  Surfaces,
  Effect.gen(function* () {
    const app = yield* HttpRouter.toHttpApp(
      yield* Effect.flatMap(HttpApiBuilder.Router, (service) => service.router)
    ).pipe(HttpRouter.withRouterConfig({ maxParamLength: headerBytes }))
    const { execute } = yield* makeExecute
    const { handle } = yield* makeGate([...routesOf(ResourceApi), ...routesOf(ExecutionApi), ...routesOf(RunApi)], app)
    const { pageAt } = yield* makeConnectPages
    return Surfaces.of({ execute, handle, connectPage: pageAt })
  })
).pipe(
  Layer.provide(router),
  Layer.provide(origin),
  Layer.provide(HttpApiBuilder.Router.Live),
  Layer.provide(NodeHttpServer.layerContext)
)
