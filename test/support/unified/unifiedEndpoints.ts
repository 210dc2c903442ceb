/** The requests of the endpoints of common records. */
import type { Endpoint } from "../endpoints.js"
import { fieldMapOf, type Side } from "../endpointWorld.js"

/** The parts of paths: a contact of the connector of `oauthProvider.ts`, the side's override of its map, and its report. */
export const recordParts = ({ fieldMap, report }: Side) => ({
  category: "crm",
  entity: "contact",
  recordId: "ada@example.com",
  model: "crm.contact",
  fmp: fieldMap,
  rpt: report
})

/** Of a contact, through the side's connection. */
const one: Endpoint = { headers: ({ side }) => ({ "x-svc-connections": side.connection }) }
const written: Endpoint = { ...one, body: () => ({ emailAddresses: [{ emailAddress: "grace@example.com" }] }) }

export const unifiedEndpoints: { readonly [name: string]: Endpoint } = {
  "GET /api/v1/unified/:category/:entity": one,
  "GET /api/v1/unified/:category/:entity/:recordId": one,
  "POST /api/v1/unified/:category/:entity": written,
  "PATCH /api/v1/unified/:category/:entity/:recordId": written,
  "DELETE /api/v1/unified/:category/:entity/:recordId": one,
  "GET /api/v1/field-maps": {},
  // A customer has one override of a map.
  "POST /api/v1/field-maps": {
    uses: async ({ side, world }) => {
      const taken = await world.make.fieldMap(side, "CDMContact")
      await world.svc.ask("DELETE", `/api/v1/field-maps/${taken}`, { key: world.svc.first.key })
      return {}
    },
    body: ({ side }) => fieldMapOf(side, "CDMContact")
  },
  "GET /api/v1/field-maps/effective": {
    query: ({ side }) => `connector=${side.connector}&model=crm.contact&customer_id=${side.customer}`
  },
  "GET /api/v1/field-maps/:fmp": {},
  "PUT /api/v1/field-maps/:fmp": { body: () => ({ name: "changed" }) },
  "DELETE /api/v1/field-maps/:fmp": {
    uses: async ({ side, world }) => ({ fieldMap: await world.make.fieldMap(side, "CDMContact") })
  },
  "GET /api/v1/field-maps/:fmp/versions": {},
  "POST /api/v1/field-maps/:fmp/publish": { body: () => ({}) },
  "POST /api/v1/field-maps/:fmp/test": {
    body: ({ side }) => ({ live: { connectionId: side.connection, recordId: "ada@example.com" } })
  },
  "GET /api/v1/models": {},
  "GET /api/v1/models/:model": {}
}
