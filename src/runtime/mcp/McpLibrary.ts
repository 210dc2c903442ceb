/** The library for the Model Context Protocol, which the build puts into a file of its own: it is read at the first use. */
export {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  Server,
  WebStandardStreamableHTTPServerTransport
} from "@modelcontextprotocol/server"
