/** Texts of surface B's operations. */
import type { TenantApi } from "../tenant/Api.js"
import type { TextsOf } from "./OperationText.js"

/** Texts by operation id. */
export const tenantTexts: TextsOf<typeof TenantApi> = {
  "credentials.store": {
    summary: "Store a credential",
    description:
      "Creates a connection of the tenant with the given credential. The credential is tested first and never answered.",
    answers: { 201: "The credential is stored. Its values are left out." },
    example: { connector: "acme-crm", authMethod: "key", label: "Main account", credential: { apiKey: "s3cr3t" } }
  },
  "credentials.list": {
    summary: "List credentials",
    description:
      "Lists the tenant's stored credentials, newest first. With `reveal=true` and the permission to decrypt, their values are included.",
    answers: { 200: "A page of credentials." }
  },
  "credentials.rotate": {
    summary: "Replace a credential",
    description:
      "Replaces the values of a stored credential. The new ones are tested first, unless `skipTest` is true; if the test fails the old ones stay.",
    answers: { 200: "The credential was replaced." },
    example: { credential: { apiKey: "n3w-s3cr3t" } }
  },
  "tenantEvents.list": {
    summary: "List a tenant's events",
    description: "Lists the tenant's events without their payloads, newest first.",
    answers: {
      200: "A page of events. With a filter it may have fewer than asked for, or none, while `hasMore` is true."
    }
  },
  "tenantEvents.reconciliation": {
    summary: "Reconcile a tenant's events",
    description:
      "Counts what became of the tenant's events that were accepted in a period, by default the last day, and names those that nothing accounts for.",
    answers: { 200: "The counts." }
  },
  "tenantEvents.get": {
    summary: "Read a tenant's event",
    description:
      "Returns an event with its payload, its headers and the runs that it started. Secret members are redacted.",
    answers: { 200: "The event." }
  },
  "tenantEvents.replay": {
    summary: "Replay a tenant's event",
    description:
      "Accepts the event again, under a new id, with its exact payload. It is not taken for a repetition. `mode: same` runs the versions that ran before.",
    answers: { 202: "The new event is committed." },
    example: { mode: "latest" }
  },
  "tenantDeadLetters.list": {
    summary: "List a tenant's dead letters",
    description:
      "Lists the tenant's events that could not be routed, runs of events that failed, and deliveries that were given up, newest first.",
    answers: {
      200: "A page of dead letters. With a filter it may have fewer than asked for, or none, while `hasMore` is true."
    }
  },
  "tenantDeadLetters.replayMany": {
    summary: "Replay many dead letters of a tenant",
    description:
      "Replays the tenant's pending dead letters that match the filter, oldest first, at a rate. It goes on in the background, also after a restart.",
    answers: { 202: "The replay has begun." },
    example: { filter: { code: "WORKFLOW_NOT_DEPLOYED" }, limit: 500, ratePerSecond: 20 }
  },
  "tenantDeadLetters.getReplay": {
    summary: "Read a tenant's replay",
    description: "Returns how far a replay of many dead letters of the tenant has come.",
    answers: { 200: "The replay." }
  },
  "tenantDeadLetters.get": {
    summary: "Read a tenant's dead letter",
    description: "Returns a dead letter with its payload and error. Secret members are redacted.",
    answers: { 200: "The dead letter." }
  },
  "tenantDeadLetters.replay": {
    summary: "Replay a tenant's dead letter",
    description:
      "Replays it once: its event under a new id, for the route that failed, or its delivery as it was. A second request is refused.",
    answers: { 202: "The new event is committed, or the delivery is sent again." },
    example: { mode: "latest" }
  },
  "tenantDeadLetters.discard": {
    summary: "Discard a tenant's dead letter",
    description: "Marks a dead letter as discarded: no replay takes it.",
    answers: { 204: "The dead letter is discarded." }
  }
}
