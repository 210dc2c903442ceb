/** What is read again after a change of a trigger, and the version that a change is based on. */
import type { ApiSchemas } from "../../api/Client.js"

export const triggerReads = ["/api/v1/triggers", "/api/v1/triggers/{trg}", "/api/v1/triggers/{trg}/fires"] as const

export const triggerVersion = ({ id, version }: ApiSchemas["Trigger"]) => ({
  path: { trg: id },
  header: { "If-Match": `"${version}"` }
})
