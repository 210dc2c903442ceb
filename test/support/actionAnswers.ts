/** A connector of one action, and what its provider answers. */
import { assert } from "@effect/vitest"
import { type ConnectorManifest, decodeManifest } from "../../src/domain/connector/Definition.js"
import type { ProviderAnswer } from "../../src/domain/connector/request/ProviderAnswer.js"

export type ActionManifest = ConnectorManifest["actions"][number]

export const connector = (action: Partial<ActionManifest>, rest: Partial<ConnectorManifest> = {}) => {
  const definition = decodeManifest({
    svcConnector: 1,
    slug: "acme",
    name: "Acme",
    kind: "crm",
    version: "1.0.0",
    baseUrl: "https://api.acme.example",
    auth: [{ id: "none", type: "none" }],
    actions: [{ name: "do", request: { method: "GET", path: "/things" }, ...action }],
    ...rest
  })
  return { definition, action: definition.actions[0] ?? assert.fail("no action") }
}

export const answer = (
  body: unknown,
  {
    headers = {},
    status = 200,
    type = "application/json"
  }: { headers?: Record<string, string>; status?: number; type?: string } = {}
): ProviderAnswer => ({
  status,
  headers: Object.entries({ ...(type === "" ? {} : { "Content-Type": type }), ...headers }),
  body:
    body instanceof Uint8Array ? body : new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body))
})
