/** What is read again after a change of a trigger, and the version that a change is based on. */
import type { ApiSchemas } from "../../api/Client.js"

export const triggerReads = [
  "/api/v1/triggers",
  "/api/v1/triggers/{trg}",
  "/api/v1/triggers/{trg}/fires",
  "/api/v1/triggers/{trg}/subscriptions"
] as const

export const triggerVersion = ({ id, version }: ApiSchemas["Trigger"]) => ({
  path: { trg: id },
  header: { "If-Match": `"${version}"` }
})

/** Milliseconds between reads of how a trigger stands: shorter while its provider is being asked. */
export const triggerReadsEvery = (states: ReadonlyArray<string>): number =>
  states.some((state) => state === "pending" || state === "renewing") ? 1_000 : 10_000
