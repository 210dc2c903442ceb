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
  }
}
