/** The use cases of management, a layer for each room. They depend on ports only, which `Service.ts` provides. */
import { Effect, Layer } from "effect"
import { AuditLog } from "../../actors/management/AuditLog.js"
import { embedUseCases } from "../../actors/management/embed/UseCases.js"
import { accessUseCases } from "../../actors/management/access/UseCases.js"
import { connectionUseCases } from "../../actors/management/connection/UseCases.js"
import { connectorUseCases } from "../../actors/management/connector/UseCases.js"
import { eventUseCases } from "../../actors/management/event/UseCases.js"
import { organisationUseCases } from "../../actors/management/organisation/UseCases.js"
import { releaseUseCases } from "../../actors/management/release/UseCases.js"
import { runUseCases } from "../../actors/management/run/UseCases.js"
import { triggerUseCases } from "../../actors/management/trigger/UseCases.js"
import { unifiedUseCases } from "../../actors/management/unified/UseCases.js"
import { watchUseCases } from "../../actors/management/watch/UseCases.js"
import { workflowUseCases } from "../../actors/management/workflow/UseCases.js"
import { Settings } from "../configuration/Config.js"
import * as OidcProvider from "../oauth/OidcProvider.js"
import { bundleOf } from "./Processes.js"

const identityProvider = Layer.unwrapEffect(
  Effect.map(Settings, ({ oidc }) => OidcProvider.layer(oidc, bundleOf("openid.cjs")))
)

/** All of them; those of runs and organisations serve others, too. */
export const useCases = Layer.mergeAll(
  AuditLog.Default,
  accessUseCases,
  embedUseCases,
  connectionUseCases,
  connectorUseCases,
  eventUseCases,
  releaseUseCases,
  triggerUseCases,
  unifiedUseCases,
  watchUseCases,
  workflowUseCases
).pipe(
  Layer.provide(identityProvider),
  Layer.provideMerge(runUseCases),
  Layer.provideMerge(Layer.unwrapEffect(Effect.map(Settings, organisationUseCases)))
)
