/** The entities of Salesforce that are records of their own: accounts, contacts, leads, opportunities, stages, users. */
import type { FieldMapEncoded } from "../../mapping/FieldMap.js"
import { type EntityManifest, pairs } from "../SchemaShorthands.js"
import type { SalesforceObject } from "./Requests.js"
import { salesforceAccount, salesforceContact, salesforceLead, salesforceOpportunity } from "./Objects.js"

type Pairs = ReadonlyArray<FieldMapEncoded>
type Paths = Readonly<Record<string, string>>

/** Members that records have. */
export const salesforceCommon = pairs({
  Id: "id",
  CreatedDate: "remoteCreatedAt",
  SystemModstamp: "remoteUpdatedAt",
  IsDeleted: "remoteWasDeleted"
})

export const writtenPairs = (paths: Paths): Pairs => Object.entries(paths).map(([to, from]) => ({ from, to }))

/** How an object's own fields are read. */
const describedFields = (object: string): NonNullable<EntityManifest["describe"]> => ({
  action: "describeObject",
  args: { object },
  items: "$.fields",
  name: "name",
  title: "label",
  type: "type",
  required: {
    all: [
      { path: "nillable", op: "eq", value: false },
      { path: "defaultedOnCreate", op: "eq", value: false },
      { path: "createable", op: "eq", value: true }
    ]
  },
  readOnly: {
    all: [
      { path: "createable", op: "eq", value: false },
      { path: "updateable", op: "eq", value: false }
    ]
  },
  custom: { path: "custom", op: "eq", value: true }
})

const queried = {
  batchSize: "{{query.pageSize}}",
  fields: "{{query.fieldList}}",
  modifiedAfter: "{{query.modifiedAfter.iso}}",
  createdAfter: "{{query.createdAfter.iso}}"
}

/** The actions of an object; what is written is read again, since Salesforce answers changes with an id at most. */
const verbs = ({ name, plural }: SalesforceObject): Partial<EntityManifest> => {
  const read = { fields: "{{query.fieldList}}" }
  return {
    read: `list${plural}`,
    get: `get${name}`,
    create: [`create${name}`, `get${name}`],
    update: [`update${name}`, `get${name}`],
    delete: `delete${name}`,
    describe: describedFields(name),
    args: {
      read: queried,
      get: { id: "{{id}}", ...read },
      create: [{ fields: "{{record}}" }, { id: "{{results[0].id}}", ...read }],
      update: [
        { id: "{{id}}", fields: "{{record}}" },
        { id: "{{id}}", ...read }
      ]
    }
  }
}

/** The fields of an address: `MailingStreet` and so on. */
const addressFields = (prefix: string, index: number): Paths => ({
  [`${prefix}Street`]: `addresses[${index}].street1`,
  [`${prefix}City`]: `addresses[${index}].city`,
  [`${prefix}State`]: `addresses[${index}].state`,
  [`${prefix}PostalCode`]: `addresses[${index}].postalCode`,
  [`${prefix}Country`]: `addresses[${index}].country`
})

/** The types of phone numbers and addresses in the order of their fields. */
const typesOf = (list: string, ...types: ReadonlyArray<string>): Pairs =>
  types.map((type, index) => ({ to: `${list}[${index}].type`, default: type }))

const activity = pairs({ LastActivityDate: "lastActivityAt" })

const account = {
  Name: "name",
  Description: "description",
  Industry: "industry",
  Website: "website",
  NumberOfEmployees: "numberOfEmployees",
  OwnerId: "ownerId",
  Phone: "phoneNumbers[0].phoneNumber",
  Fax: "phoneNumbers[1].phoneNumber",
  ...addressFields("Billing", 0),
  ...addressFields("Shipping", 1)
}

const contact = {
  FirstName: "firstName",
  LastName: "lastName",
  AccountId: "accountId",
  OwnerId: "ownerId",
  Email: "emailAddresses[0].emailAddress",
  Phone: "phoneNumbers[0].phoneNumber",
  MobilePhone: "phoneNumbers[1].phoneNumber",
  HomePhone: "phoneNumbers[2].phoneNumber",
  Fax: "phoneNumbers[3].phoneNumber",
  ...addressFields("Mailing", 0),
  ...addressFields("Other", 1),
  Title: "title"
}

const cdmContact = {
  Email: "email",
  FirstName: "firstName",
  LastName: "lastName",
  Phone: "phone",
  MailingStreet: "addresses[0].line1",
  MailingCity: "addresses[0].city",
  MailingState: "addresses[0].state",
  MailingPostalCode: "addresses[0].postalCode",
  MailingCountry: "addresses[0].country"
}

const lead = {
  FirstName: "firstName",
  LastName: "lastName",
  Title: "title",
  Company: "company",
  LeadSource: "leadSource",
  OwnerId: "ownerId",
  Email: "emailAddresses[0].emailAddress",
  Phone: "phoneNumbers[0].phoneNumber",
  MobilePhone: "phoneNumbers[1].phoneNumber",
  Fax: "phoneNumbers[2].phoneNumber",
  ...addressFields("", 0),
  Status: "status"
}

const opportunity = {
  Name: "name",
  Description: "description",
  Amount: "amount",
  OwnerId: "ownerId",
  AccountId: "accountId",
  StageName: "stageId"
}
const closeDate = { from: "CloseDate", to: "closeDate", dateFormat: "date" } as const

export const recordEntities: ReadonlyArray<EntityManifest> = [
  {
    name: "account",
    unified: "crm/account",
    ...verbs(salesforceAccount),
    unifiedFields: [
      ...salesforceCommon,
      ...pairs(account),
      ...typesOf("phoneNumbers", "work", "fax"),
      ...typesOf("addresses", "billing", "shipping"),
      ...activity
    ],
    unifiedFieldsOut: writtenPairs(account)
  },
  {
    name: "contact",
    cdm: "CDMContact",
    unified: "crm/contact",
    ...verbs(salesforceContact),
    fields: [...pairs({ Id: "id", CreatedDate: "createdAt", SystemModstamp: "updatedAt" }), ...pairs(cdmContact)],
    fieldsOut: writtenPairs(cdmContact),
    unifiedFields: [
      ...salesforceCommon,
      ...pairs(contact),
      ...typesOf("phoneNumbers", "work", "mobile", "home", "fax"),
      ...typesOf("addresses", "mailing", "other"),
      ...activity
    ],
    unifiedFieldsOut: writtenPairs(contact)
  },
  {
    name: "lead",
    unified: "crm/lead",
    ...verbs(salesforceLead),
    unifiedFields: [
      ...salesforceCommon,
      ...pairs(lead),
      ...typesOf("phoneNumbers", "work", "mobile", "fax"),
      ...pairs({
        ConvertedDate: "convertedAt",
        ConvertedContactId: "convertedContactId",
        ConvertedAccountId: "convertedAccountId"
      })
    ],
    unifiedFieldsOut: writtenPairs(lead)
  },
  {
    name: "opportunity",
    unified: "crm/opportunity",
    ...verbs(salesforceOpportunity),
    unifiedFields: [
      ...salesforceCommon,
      ...pairs(opportunity),
      closeDate,
      // The stage decides, so that the status cannot be written.
      {
        from: "IsClosed",
        to: "status",
        transforms: [{ fn: "CONCAT", args: ["_", "IsClosed", "IsWon"] }],
        enum: { true_true: "WON", true_false: "LOST", false_false: "OPEN" }
      },
      ...activity
    ],
    unifiedFieldsOut: [...writtenPairs(opportunity), { from: "closeDate", to: "CloseDate", dateFormat: "date" }]
  },
  {
    name: "stage",
    unified: "crm/stage",
    read: "listOpportunityStages",
    get: "getOpportunityStage",
    args: { read: { modifiedAfter: "{{query.modifiedAfter.iso}}", createdAfter: "{{query.createdAfter.iso}}" } },
    unifiedFields: [
      // Opportunities name their stage by this name.
      ...pairs({
        ApiName: "id",
        CreatedDate: "remoteCreatedAt",
        SystemModstamp: "remoteUpdatedAt",
        MasterLabel: "name",
        SortOrder: "order"
      }),
      { from: "DefaultProbability", to: "probability", transforms: [{ fn: "MULTIPLY", args: ["0.01"] }] }
    ]
  },
  {
    name: "user",
    unified: "crm/user",
    read: "listUsers",
    get: "getUser",
    args: { read: queried, get: { id: "{{id}}", fields: "{{query.fieldList}}" } },
    unifiedFields: pairs({
      Id: "id",
      CreatedDate: "remoteCreatedAt",
      SystemModstamp: "remoteUpdatedAt",
      Name: "name",
      Email: "email",
      IsActive: "isActive"
    })
  }
]
