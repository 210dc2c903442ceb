/** The answers of connectors that a run recorded, as fixtures for runs without a provider. */
import type { Fixture } from "../../domain/connector/Mocking.js"
import { isObject, type Json } from "../../domain/Json.js"

/** What a connector answered in a run, to be given to others; what was too large for the trace is not in it. */
export const recorded = (step: Json): ReadonlyArray<Fixture> => {
  if (!isObject(step) || step["status"] !== "completed") return []
  const { action, connector, input, output = null } = step
  if (typeof connector !== "string" || typeof action !== "string" || (isObject(output) && "$blob" in output)) return []
  const [args] = Array.isArray(input) ? input : []
  return [{ connector, action, ...(args === undefined ? {} : { input: args }), output }]
}
