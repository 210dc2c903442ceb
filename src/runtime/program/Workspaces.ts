/** `svc.db`, whose sessions all nodes share, and what its workspaces store. */
import { Effect, Layer } from "effect"
import * as SharedSessions from "../workspace/SharedSessions.js"
import * as WorkspaceDb from "../workspace/WorkspaceDb.js"
import * as WorkspaceStorage from "../workspace/WorkspaceStorage.js"
import { ProvidedSecrets, WorkspaceServer } from "./Layers.js"

export const layer = Layer.unwrapEffect(
  Effect.gen(function* () {
    const admin = yield* WorkspaceServer
    const { keyPepper } = yield* ProvidedSecrets
    return WorkspaceStorage.layer.pipe(
      Layer.provideMerge(WorkspaceDb.layer({ admin, pepper: keyPepper })),
      Layer.provide(SharedSessions.layer)
    )
  })
)
