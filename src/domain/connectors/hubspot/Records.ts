/** The entities of HubSpot that are records of their own: companies, contacts, deals, leads, owners and stages. */
import { type EntityManifest, pairs } from "../SchemaShorthands.js"
import {
  describedProperties,
  hubspotCommon,
  hubspotVerbs,
  readLink,
  readLinks,
  readProperties,
  writtenLinks,
  writtenProperties
} from "./Maps.js"
import { hubspotCompany, hubspotContact, hubspotDeal, hubspotLead } from "./Objects.js"

const company = {
  name: "name",
  description: "description",
  industry: "industry",
  website: "website",
  numberofemployees: "numberOfEmployees",
  hubspot_owner_id: "ownerId",
  phone: "phoneNumbers[0].phoneNumber",
  address: "addresses[0].street1",
  address2: "addresses[0].street2",
  city: "addresses[0].city",
  state: "addresses[0].state",
  zip: "addresses[0].postalCode",
  country: "addresses[0].country"
}

export const companyEntity: EntityManifest = {
  name: "company",
  unified: "crm/account",
  ...hubspotVerbs(hubspotCompany, { isSearched: true }),
  fieldsAt: "properties",
  describe: describedProperties("companies"),
  unifiedFields: [
    ...hubspotCommon,
    ...readProperties(company),
    ...readProperties({ notes_last_updated: "lastActivityAt" })
  ],
  unifiedFieldsOut: writtenProperties(company)
}

/** HubSpot associates a contact with the company of this property, its primary one. */
const contactCompany = { associatedcompanyid: "accountId" }

const contact = {
  firstname: "firstName",
  lastname: "lastName",
  hubspot_owner_id: "ownerId",
  email: "emailAddresses[0].emailAddress",
  phone: "phoneNumbers[0].phoneNumber",
  mobilephone: "phoneNumbers[1].phoneNumber",
  address: "addresses[0].street1",
  city: "addresses[0].city",
  state: "addresses[0].state",
  zip: "addresses[0].postalCode",
  country: "addresses[0].country",
  jobtitle: "title",
  ...contactCompany
}

const cdmContact = {
  email: "email",
  firstname: "firstName",
  lastname: "lastName",
  company: "company",
  phone: "phone",
  address: "addresses[0].line1",
  city: "addresses[0].city",
  state: "addresses[0].state",
  zip: "addresses[0].postalCode",
  country: "addresses[0].country"
}

export const contactEntity: EntityManifest = {
  name: "contact",
  cdm: "CDMContact",
  unified: "crm/contact",
  ...hubspotVerbs(hubspotContact, { isSearched: true }),
  fieldsAt: "properties",
  describe: describedProperties("contacts"),
  fields: [...pairs({ id: "id", createdAt: "createdAt", updatedAt: "updatedAt" }), ...readProperties(cdmContact)],
  fieldsOut: writtenProperties(cdmContact),
  unifiedFields: [
    ...hubspotCommon,
    ...readProperties(contact),
    { to: "phoneNumbers[0].type", default: "work" },
    { to: "phoneNumbers[1].type", default: "mobile" },
    ...readProperties({ notes_last_updated: "lastActivityAt" })
  ],
  unifiedFieldsOut: writtenProperties(contact)
}

const deal = {
  dealname: "name",
  description: "description",
  amount: "amount",
  deal_currency_code: "currency",
  hubspot_owner_id: "ownerId",
  dealstage: "stageId",
  pipeline: "pipelineId",
  closedate: "closeDate"
}

export const dealEntity: EntityManifest = {
  name: "deal",
  unified: "crm/opportunity",
  // No search: HubSpot finds no associations by it.
  ...hubspotVerbs(hubspotDeal, { associations: ["companies", "contacts"], isSearched: false }),
  fieldsAt: "properties",
  describe: describedProperties("deals"),
  unifiedFields: [
    ...hubspotCommon,
    ...readProperties(deal),
    // The stage decides, so that the status cannot be written.
    {
      from: "properties.hs_is_closed",
      to: "status",
      transforms: [{ fn: "CONCAT", args: ["_", "properties.hs_is_closed", "properties.hs_is_closed_won"] }],
      enum: { true_true: "WON", true_false: "LOST", false_false: "OPEN", false: "OPEN" }
    },
    ...readProperties({ notes_last_updated: "lastActivityAt" }),
    readLink("companies", "accountId"),
    readLinks("contacts", "contactIds")
  ],
  unifiedFieldsOut: [
    ...writtenProperties(deal),
    ...writtenLinks("accountId", "companies", 341),
    ...writtenLinks("contactIds[*]", "contacts", 3)
  ]
}

const lead = { hs_lead_name: "title", hubspot_owner_id: "ownerId", hs_pipeline_stage: "status" }

/** A lead belongs to a contact, which a record of the unified API cannot name: it can be created with `remoteFields` only. */
export const leadEntity: EntityManifest = {
  name: "lead",
  unified: "crm/lead",
  ...hubspotVerbs(hubspotLead, { isSearched: true, isCreated: false }),
  fieldsAt: "properties",
  unifiedFields: [
    ...hubspotCommon,
    ...readProperties({
      ...lead,
      hs_associated_contact_firstname: "firstName",
      hs_associated_contact_lastname: "lastName",
      hs_associated_company_name: "company",
      hs_associated_contact_email: "emailAddresses[0].emailAddress"
    })
  ],
  unifiedFieldsOut: writtenProperties(lead)
}

export const stageEntity: EntityManifest = {
  name: "stage",
  unified: "crm/stage",
  read: "listDealPipelines",
  unifiedFields: pairs({
    id: "id",
    createdAt: "remoteCreatedAt",
    updatedAt: "remoteUpdatedAt",
    archived: "remoteWasDeleted",
    label: "name",
    displayOrder: "order",
    "metadata.probability": "probability"
  })
}

export const ownerEntity: EntityManifest = {
  name: "owner",
  unified: "crm/user",
  read: "listOwners",
  get: "getOwner",
  args: { read: { limit: "{{query.pageSize}}" }, get: { ownerId: "{{id}}" } },
  unifiedFields: [
    ...pairs({
      id: "id",
      createdAt: "remoteCreatedAt",
      updatedAt: "remoteUpdatedAt",
      archived: "remoteWasDeleted",
      email: "email"
    }),
    { from: "lastName", to: "name", transforms: [{ fn: "CONCAT", args: [" ", "firstName", "lastName"] }] },
    { from: "archived", to: "isActive", enum: { true: false, false: true } }
  ]
}
