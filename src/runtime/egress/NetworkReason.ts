/** Explains network errors in words for people. */

const reasons: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ENOTFOUND: "the name does not exist",
    EAI_AGAIN: "the name could not be resolved at the moment",
    ECONNREFUSED: "the connection was refused",
    ECONNRESET: "the connection was reset",
    EPIPE: "the connection was closed while the request was being sent",
    UND_ERR_SOCKET: "the connection was closed before the answer was complete",
    UND_ERR_CONNECT_TIMEOUT: "no connection within 10 seconds",
    UND_ERR_HEADERS_OVERFLOW: "the answer's headers are larger than 32 KiB",
    UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the answer is shorter than it announced"
  })
)

export const networkReasonOf = (error: Error): string => {
  const code = "code" in error && typeof error.code === "string" ? error.code : ""
  if (error.name === "HTTPParserError" && code === "") return `the answer is not valid HTTP (${error.message})`
  if (code.startsWith("HPE_")) return `the answer is not valid HTTP (${code})`
  return reasons.get(code) ?? (code === "" ? error.message : `${error.message} (${code})`)
}
