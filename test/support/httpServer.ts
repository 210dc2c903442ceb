/** HTTP servers of tests. */
import { createServer, type RequestListener, type Server } from "node:http"

/**
 * A server that closes no idle connection, however long the test holds the loop: by default it closes one after five
 * seconds, also if a request has arrived on it meanwhile, which a client sees as a reset.
 */
export const createTestServer = (listener: RequestListener): Server =>
  createServer({ keepAliveTimeout: 600_000 }, listener)
