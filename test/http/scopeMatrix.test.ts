/**
 * The scope of a key, by type of resource and endpoint: requests in scope succeed, others are refused. Generated from
 * the table of endpoints, each of which declares how the scopes apply to it.
 */
import { afterAll } from "@effect/vitest"
import { startWorld, type World } from "../support/endpointWorld.js"
import { scopeMatrix } from "../support/matrices/ScopeMatrix.js"

let world: World | undefined
afterAll(() => world?.stop())

scopeMatrix(async () => (world = await startWorld()), "key")
