/**
 * The members that a contact of the common data model and one of the unified API share: a connector that maps the one serves
 * the other. Contract: CDM types; unified API.
 */
import type { FieldMap } from "../mapping/FieldMap.js"

/** The beginning of a path of `CDMContact` → that of `crm.contact`, longest first. */
const sharedPaths: ReadonlyArray<readonly [cdm: string, unified: string]> = [
  ...(["addresses[*]", "addresses[0]", "addresses[1]"] as const).flatMap((list) =>
    (
      [
        ["line1", "street1"],
        ["line2", "street2"],
        ["city", "city"],
        ["state", "state"],
        ["postalCode", "postalCode"],
        ["country", "country"]
      ] as const
    ).map(([cdm, unified]) => [`${list}.${cdm}`, `${list}.${unified}`] as const)
  ),
  ["id", "id"],
  ["firstName", "firstName"],
  ["lastName", "lastName"],
  ["email", "emailAddresses[0].emailAddress"],
  ["phone", "phoneNumbers[0].phoneNumber"],
  ["customFields", "customFields"],
  ["createdAt", "remoteCreatedAt"],
  ["updatedAt", "remoteUpdatedAt"]
]

/** The pairs of a map of contacts whose members both models share. `side`: where the common path stands. */
export const sharedUnifiedPairs = (fields: ReadonlyArray<FieldMap>, side: "from" | "to"): ReadonlyArray<FieldMap> =>
  fields.flatMap((pair) => {
    const path = pair[side]
    if (path === undefined) return []
    const found = sharedPaths.find(([cdm]) => path === cdm || path.startsWith(`${cdm}.`))
    return found === undefined ? [] : [{ ...pair, [side]: `${found[1]}${path.slice(found[0].length)}` }]
  })
