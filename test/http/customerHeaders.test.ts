/**
 * A customer named in headers, on every endpoint: a different customer in the path, query or body is refused, records
 * of other customers are not found, and lists show only that customer's. Generated from the table of endpoints.
 */
import { afterAll } from "@effect/vitest"
import { startWorld, type World } from "../support/endpointWorld.js"
import { customerMatrix } from "../support/matrices/CustomerMatrix.js"

let world: World | undefined
afterAll(() => world?.stop())

customerMatrix(async () => (world = await startWorld()))
