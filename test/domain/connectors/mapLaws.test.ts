/** The maps of the built-in connectors are lenses: what is read and written back changes nothing, but for members that are listed. */
import { assert, describe, it } from "@effect/vitest"
import { mapsOf } from "../../../src/domain/connector/EntityMaps.js"
import { catalogue } from "../../../src/domain/connectors/index.js"
import { mapLosses } from "../../../src/domain/mapping/inspect/MapLosses.js"
import { lawsOf } from "../../support/mapLaws.js"

/** HubSpot wants associations with their types, and answers them as lists of their own. */
const associations = ["accountId", "contactIds"]
/** Salesforce takes ids of any object, and answers which object it is only where a query asks for it. */
const relations = ["accountId", "contactIds"]

/**
 * Members that a record does not have as it was written: the provider computes what is read, or has less. By connector, entity
 * and model.
 */
const lossy: Readonly<Record<string, ReadonlyArray<string>>> = {
  "hubspot deal crm.opportunity": associations,
  "hubspot call crm.engagement": associations,
  "hubspot meeting crm.engagement": associations,
  "hubspot email crm.engagement": associations,
  "hubspot note crm.note": ["accountId", "contactId", "opportunityId"],
  "hubspot task crm.task": ["accountId", "contactId", "opportunityId"],
  // Days without a time.
  "salesforce opportunity crm.opportunity": ["closeDate"],
  "salesforce call crm.engagement": [...relations, "startTime"],
  "salesforce email crm.engagement": [...relations, "startTime"],
  "salesforce event crm.engagement": relations,
  // The state is one of the account's own words, of which Salesforce tells whether it closes the task.
  "salesforce task crm.task": ["contactId", "dueDate", "opportunityId", "status"],
  "salesforce note crm.note": ["accountId", "contactId", "opportunityId"],
  "pipedrive deal crm.opportunity": ["closeDate"],
  // Pipedrive splits the name.
  "pipedrive person CDMContact": ["lastName"],
  "pipedrive person crm.contact": ["lastName"],
  // Keys of types are in small letters.
  "pipedrive engagement crm.engagement": ["engagementTypeId", "startTime"],
  "pipedrive task crm.task": ["contactId", "dueDate"],
  // Shopify names a variant after its options, and reads the address of an order's customer.
  "shopify product CDMProduct": ["variants"],
  "shopify order CDMOrder": ["contact"],
  // A product is active or not.
  "stripe product CDMProduct": ["status"],
  "quickbooks item CDMProduct": ["status"],
  "cin7-core product CDMProduct": ["status"],
  "quickbooks invoice CDMInvoice": ["dueDate"],
  // Xero sends its dates in a form of its own, and sets what is paid.
  "xero invoice CDMInvoice": ["dueDate", "status"],
  // A refunded order is a cancelled one.
  "shipstation order CDMOrder": ["status"],
  // Other formats are read only.
  "google-drive content documents.document-content": ["format"],
  // GitHub takes names and answers records, and its issues are open or closed.
  "github issue project-management.task": ["assigneeIds", "labels", "status"],
  // Confluence has one format, and archives by a task of its own.
  "confluence page knowledge-base.article": ["format", "status"],
  "jira issue project-management.task": ["dueDate"],
  // What was sent is answered in another form, or not at all.
  "slack message messaging.channel-message": ["attachments", "blocks", "text", "threadId"],
  "slack directMessage messaging.direct-message": ["attachments", "blocks", "email", "text", "threadId", "userId"],
  "email message messaging.direct-message": ["attachments", "email", "text", "threadId"]
}

const written = catalogue().flatMap(({ entities, slug }) =>
  entities.flatMap((entity) =>
    mapsOf(entity)
      .filter(() => entity.create !== undefined || entity.update !== undefined)
      .map((map) => ({ name: `${slug} ${entity.name} ${map.model.name}`, entity, map }))
  )
)

/** The losses that svc names of a map, by their paths. */
const named = ({ entity, map }: (typeof written)[number]): ReadonlyArray<string> => {
  const [losses = []] = mapLosses([{ entity, ...map, model: map.model.name }])
  return losses.map(({ path }) => path).sort()
}

describe("the maps of the built-in connectors", () => {
  it.each(written)("give what was written but for the pairs that are named lossy, and change nothing: $name", (one) => {
    const { changes, lossy: found } = lawsOf(one.entity, one.map)
    assert.deepStrictEqual(changes, {})
    assert.deepStrictEqual(found, named(one))
  })

  it.each(written)("are lossy only where a reason is known: $name", (one) =>
    assert.deepStrictEqual([...new Set(named(one).map((path) => path.replace(/[.[].*$/, "")))], lossy[one.name] ?? [])
  )

  it("have no member in the list that is not lossy", () =>
    assert.deepStrictEqual(
      Object.keys(lossy).filter((name) => !written.some((one) => one.name === name)),
      []
    ))
})
